package api

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// DeleteRecords (key 21), versions 0-2. Offset -1 deletes up to the high watermark. It is answered when the logs of all live
// replicas begin there; the low watermark is where the first of them begins.
//
// Ordering key: the partition.
// Errors a partition: 1 OFFSET_OUT_OF_RANGE beyond the high watermark or below 0, 3 UNKNOWN_TOPIC_OR_PARTITION, 6
// NOT_LEADER_OR_FOLLOWER, 7 REQUEST_TIMED_OUT, 17 INVALID_TOPIC_EXCEPTION for an internal topic, 29
// TOPIC_AUTHORIZATION_FAILED, 44 POLICY_VIOLATION for a topic that is only compacted, 56 KAFKA_STORAGE_ERROR. The low
// watermark beside an error is -1, but beside a timeout what it was when the leader had deleted.
var deleteRecords = &Handler{
	Key: 21, Name: "DeleteRecords", Min: 0, Max: 2, On: OnBroker,
	Order:  Order{Keys: deleteRecordsKeys, Pipelined: true},
	Access: Access{DeleteOp, OnTopic},
	Handle: handleDeleteRecords,
}

// deleteRecordsLeast is how long a replica is waited for at least: a client's timeout is meant for followers, and 0
// asks Kafka's leader for its answer too.
const deleteRecordsLeast = time.Second

// deleteRecordsOp gathers what the replicas answer until its deadline.
type deleteRecordsOp struct {
	deadline time.Time

	mu   sync.Mutex
	resp *kmsg.DeleteRecordsResponse // what is not answered yet stands as timed out
	left int
	wake kit.Errand
}

func handleDeleteRecords(n *Node, r *Request) {
	req := r.Body.(*kmsg.DeleteRecordsRequest)
	var asked mentions[model.Offset]
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			asked.add(req.Topics[i].Topic, p.Partition, model.Offset(p.Offset))
		}
	}
	within := max(time.Duration(req.TimeoutMillis)*time.Millisecond, deleteRecordsLeast)
	op := &deleteRecordsOp{deadline: r.Received.Add(within), resp: req.ResponseKind().(*kmsg.DeleteRecordsResponse)}
	op.resp.Topics = make([]kmsg.DeleteRecordsResponseTopic, len(asked.topics))
	for i, name := range asked.topics {
		t := &op.resp.Topics[i]
		t.Topic, t.Partitions = name, make([]kmsg.DeleteRecordsResponseTopicPartition, len(asked.of[name]))
		for j, m := range asked.of[name] {
			t.Partitions[j] = kmsg.NewDeleteRecordsResponseTopicPartition()
			t.Partitions[j].Partition = m.partition
			t.Partitions[j].LowWatermark, t.Partitions[j].ErrorCode = -1, int16(kerr.RequestTimedOut)
		}
		op.left += len(t.Partitions)
	}
	// All are counted before the first is asked: an answer may come at once.
	for i, name := range asked.topics {
		for j, m := range asked.of[name] {
			n.deleteRecords(r, name, m, op.deadline, &deletionResult{op: op, out: &op.resp.Topics[i].Partitions[j]})
		}
	}
	r.ReplyLater(op)
}

// deleteRecordsKeys orders deletions with produces and fetches of the same partition on one connection.
func deleteRecordsKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.DeleteRecordsRequest)
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			dst = append(dst, partitionKey(req.Topics[i].Topic, p.Partition))
		}
	}
	return dst
}

// deleteRecords checks in Kafka's order and asks the replica.
func (n *Node) deleteRecords(r *Request, topic string, m mention[model.Offset], deadline time.Time, out *deletionResult) {
	_, there := n.Image().Partition(model.TopicPartition{Topic: topic, Partition: m.partition})
	switch {
	case !n.Authorizer.Allowed(r.Client, DeleteOp, OnTopic, topic):
		out.done(model.NoOffset, kerr.TopicAuthorizationFailed)
		return
	case !there:
		out.done(model.NoOffset, kerr.UnknownTopicOrPartition)
		return
	case internalTopic(topic):
		out.done(model.NoOffset, kerr.InvalidTopicException)
		return
	}
	h, _, code := n.leading(topic, m.partition, model.NoLeaderEpoch)
	switch {
	case code != kerr.None:
		out.done(model.NoOffset, code)
	case h.Config().Rules.CompactedTopic && !h.Config().Log.DeleteOld:
		out.done(model.NoOffset, kerr.PolicyViolation)
	default:
		h.SendCaused(r.Cause, &replica.DeleteRecords{Before: m.ask, Deadline: deadline, Waits: out.waits, Done: out.done})
	}
}

// deletionResult takes one partition's answer; what comes after the deadline changes nothing any more.
type deletionResult struct {
	op   *deleteRecordsOp
	out  *kmsg.DeleteRecordsResponseTopicPartition
	over bool // guarded by op.mu
}

// waits keeps what a timeout is answered with.
func (d *deletionResult) waits(low model.Offset) {
	d.op.mu.Lock()
	defer d.op.mu.Unlock()
	d.out.LowWatermark = int64(low)
}

// done takes the first answer: a replica that panics answers what it may have answered already.
func (d *deletionResult) done(low model.Offset, code kerr.Code) {
	op := d.op
	op.mu.Lock()
	defer op.mu.Unlock()
	if d.over {
		return
	}
	d.over = true
	d.out.LowWatermark, d.out.ErrorCode = int64(low), int16(code)
	op.left--
	if op.left == 0 && op.wake != nil {
		op.wake.Elsewhere()
	}
}

// Deadline is when the client's patience ends.
func (op *deleteRecordsOp) Deadline() time.Time { return op.deadline }

// Poll answers when every replica has, or at the deadline.
func (op *deleteRecordsOp) Poll(_ *kit.Turn, last bool, wake kit.Errand) (*Payload, bool) {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.left > 0 && !last {
		op.wake = wake
		return nil, false
	}
	return &Payload{Bytes: op.resp.AppendTo(nil), Sent: func() {}}, true
}

// Abandon has nothing to let go of: the records are deleted all the same.
func (op *deleteRecordsOp) Abandon() {}
