package api

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Produce (key 0), versions 3-13; shown from 0 on, because librdkafka looks for old versions (facts/README.md).
//
// Ordering key: the partition; the batches of one connection reach a partition's mailbox in arrival order.
// Errors a partition: 2 CORRUPT_MESSAGE, 3 UNKNOWN_TOPIC_OR_PARTITION, 6 NOT_LEADER_OR_FOLLOWER, 10 MESSAGE_TOO_LARGE,
// 17 INVALID_TOPIC_EXCEPTION, 18 RECORD_LIST_TOO_LARGE, 19/20 NOT_ENOUGH_REPLICAS(_AFTER_APPEND), 21
// INVALID_REQUIRED_ACKS, 32 INVALID_TIMESTAMP, 45 OUT_OF_ORDER_SEQUENCE_NUMBER, 47 INVALID_PRODUCER_EPOCH,
// 56 KAFKA_STORAGE_ERROR, 76 UNSUPPORTED_COMPRESSION_TYPE, 87 INVALID_RECORD, 100 UNKNOWN_TOPIC_ID; 7
// REQUEST_TIMED_OUT when acks=all was not reached in time. With acks=0 any error closes the connection.
var produce = &Handler{
	Key: 0, Name: "Produce", Min: 3, Max: 13, ShownFrom0: true, On: OnBroker,
	Order:   Order{Keys: produceKeys, Pipelined: true},
	Retains: true,
	Access:  Access{Write, OnTopic},
	Handle:  handleProduce,
}

const (
	acksNone   = 0
	acksLeader = 1
	acksAll    = -1
)

// produceOp gathers the partitions' results; the last one completes the request.
type produceOp struct {
	node      *Node
	request   *Request
	body      *kmsg.ProduceRequest
	parts     []producePart
	one       [1]producePart // the room of parts when there is one, as from most producers
	remaining atomic.Int32
}

type producePart struct {
	topic, partition int // indexes into the request
	traffic          *Traffic
	result           replica.AppendResult
	refused          []batch.RecordError
}

func handleProduce(n *Node, r *Request) {
	req := r.Body.(*kmsg.ProduceRequest)
	count := 0
	for i := range req.Topics {
		count += len(req.Topics[i].Partitions)
	}
	op := &produceOp{node: n, request: r, body: req}
	if op.parts = op.one[:]; count != 1 {
		op.parts = make([]producePart, count)
	}
	// One more than there are partitions, so that the request completes no earlier than the end of this function.
	op.remaining.Store(int32(count) + 1)
	deadline := r.Received.Add(time.Duration(req.TimeoutMillis) * time.Millisecond)
	at := 0
	for t := range req.Topics {
		topic := &req.Topics[t]
		name, code := n.produceTopic(r, topic)
		for p := range topic.Partitions {
			op.parts[at].topic, op.parts[at].partition = t, p
			op.start(at, name, code, deadline)
			at++
		}
	}
	op.finish()
}

// produceTopic resolves a topic of the request, by id from version 13 on.
func (n *Node) produceTopic(r *Request, t *kmsg.ProduceRequestTopic) (string, kerr.Code) {
	name := t.Topic
	if r.Version >= 13 {
		topic, ok := n.Image().TopicByID(t.TopicID)
		if !ok {
			return "", kerr.UnknownTopicID
		}
		name = topic.Name
	}
	if !n.Authorizer.Allowed(r.Client, Write, OnTopic, name) {
		return name, kerr.TopicAuthorizationFailed
	}
	if internalTopic(name) && r.ClientID != adminClient {
		return name, kerr.InvalidTopicException
	}
	return name, kerr.None
}

// adminClient is the client.id that Kafka lets write to internal topics.
const adminClient = "__admin_client"

// start checks one partition's batch and hands it to its replica.
func (op *produceOp) start(at int, topic string, code kerr.Code, deadline time.Time) {
	part := &op.body.Topics[op.parts[at].topic].Partitions[op.parts[at].partition]
	acks := op.body.Acks
	if code == kerr.None && acks != acksNone && acks != acksLeader && acks != acksAll {
		code = kerr.InvalidRequiredAcks
	}
	// Until the topic is known to exist: names that clients make up must not become metrics.
	op.parts[at].traffic = op.node.Stats.Elsewhere()
	if code != kerr.None {
		op.reject(at, code, "")
		return
	}
	h := op.node.Replicas.Get(model.TopicPartition{Topic: topic, Partition: part.Partition})
	if h == nil {
		op.reject(at, op.node.absentPartition(topic, part.Partition), "")
		return
	}
	op.parts[at].traffic = op.node.Stats.Topic(topic)
	v, err := op.checkBatch(h, part.Records, at)
	if err != nil {
		op.parts[at].traffic.refused(err)
		op.AppendDone(at, refused(h, err))
		return
	}
	h.SendOn(op.request.Turn, op.request.Cause, &replica.Append{
		Batch: v, AllAcks: acks == acksAll, Version: op.request.Version, Deadline: deadline, Sink: op, Index: at,
	})
}

// AppendDone takes one partition's result.
func (op *produceOp) AppendDone(at int, r replica.AppendResult) {
	part := &op.parts[at]
	part.result = r
	records := op.body.Topics[part.topic].Partitions[part.partition].Records
	part.traffic.produced(r.Code, records)
	if r.BytesHeld {
		op.request.Slot.KeepBytes()
	}
	op.finish()
}

// reject answers for what did not come to a replica.
func (op *produceOp) reject(at int, code kerr.Code, message string) {
	op.AppendDone(at, failed(code, message))
}

// failed is an answer without offsets: Kafka writes -1 in each of them.
func failed(code kerr.Code, message string) replica.AppendResult {
	return replica.AppendResult{
		Code: code, Message: message, BaseOffset: model.NoOffset, LogAppendTime: -1, LogStart: model.NoOffset,
		LeaderEpoch: model.NoLeaderEpoch,
	}
}

// refused is the answer for a batch that its topic's rules refuse. What Kafka finds once the partition is at hand
// carries the log start offset, what it finds before does not (measured).
func refused(h *replica.Handle, err error) replica.AppendResult {
	r := failed(kerr.Of(err))
	switch v := h.View(); r.Code {
	case kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.UnknownServerError:
		if v != nil {
			r.LogStart = v.LogStart
		}
	}
	return r
}

// finish counts down; the last partition sends the reply. With acks=0 there is none, and closing the connection is the only
// way to tell of an error.
func (op *produceOp) finish() {
	if op.remaining.Add(-1) > 0 {
		return
	}
	if op.body.Acks != acksNone {
		op.request.Reply(op)
		return
	}
	for i := range op.parts {
		if r := &op.parts[i].result; r.Code != kerr.None {
			op.request.Hangup("produce with acks=0 failed: " + r.Code.Name())
			return
		}
	}
	op.request.NoReply()
}

// produceReply is room to put a reply together in before it is encoded.
type produceReply struct {
	kmsg.ProduceResponse
	parts []kmsg.ProduceResponseTopicPartition
}

var produceReplies = sync.Pool{New: func() any { return new(produceReply) }}

// reset forgets the last reply but for the room that it took.
func (resp *produceReply) reset(version int16, parts int) {
	clear(resp.parts)
	clear(resp.Topics)
	resp.parts = slices.Grow(resp.parts[:0], parts)[:parts]
	resp.ProduceResponse = kmsg.ProduceResponse{Version: version, Topics: resp.Topics[:0]}
}

// AppendTo encodes the reply on the connection's writer, so that a replica is not kept from the next batch by it.
func (op *produceOp) AppendTo(dst []byte) []byte {
	resp := produceReplies.Get().(*produceReply)
	defer produceReplies.Put(resp)
	resp.reset(op.request.Version, len(op.parts))
	parts := resp.parts
	for i := range op.parts {
		p := &op.parts[i]
		parts[i] = op.encodePart(p)
		if p.partition == 0 { // a topic without partitions has no entry
			t := kmsg.NewProduceResponseTopic()
			t.Topic, t.TopicID = op.body.Topics[p.topic].Topic, op.body.Topics[p.topic].TopicID
			resp.Topics = append(resp.Topics, t)
		}
		resp.Topics[len(resp.Topics)-1].Partitions = parts[i-p.partition : i+1]
		if p.result.Code == kerr.NotLeaderOrFollower && op.request.Version >= 10 {
			resp.Brokers = op.node.leaderEndpoints(op.request.Client, resp.Brokers, &parts[i], op.name(p))
		}
	}
	return resp.AppendTo(dst)
}

// WaitedForOthers is part of Shared: the partitions wait side by side.
func (op *produceOp) WaitedForOthers() (longest time.Duration) {
	for i := range op.parts {
		longest = max(longest, op.parts[i].result.Replicating)
	}
	return longest
}

// countCodes is part of coded: one a partition.
func (op *produceOp) countCodes(e *errorCounts) {
	good := int64(0)
	for i := range op.parts {
		if code := op.parts[i].result.Code; code != kerr.None {
			e.add(code, 1)
			continue
		}
		good++
	}
	if good > 0 {
		e.add(kerr.None, good)
	}
}

// name is the topic's name, also where the request named it by id.
func (op *produceOp) name(p *producePart) string {
	t := &op.body.Topics[p.topic]
	return op.node.topicName(t.Topic, t.TopicID)
}

// encodePart names the records that a rule refused, by their place in the batch (KIP-467, version 8 and later).
func (op *produceOp) encodePart(p *producePart) kmsg.ProduceResponseTopicPartition {
	out := kmsg.NewProduceResponseTopicPartition()
	out.Partition = op.body.Topics[p.topic].Partitions[p.partition].Partition
	out.ErrorCode = int16(p.result.Code)
	out.BaseOffset = int64(p.result.BaseOffset)
	out.LogAppendTime = p.result.LogAppendTime
	out.LogStartOffset = int64(p.result.LogStart)
	if p.result.Message != "" {
		out.ErrorMessage = kmsg.StringPtr(p.result.Message)
	}
	for _, e := range p.refused {
		re := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		re.RelativeOffset = e.Index
		re.ErrorMessage = kmsg.StringPtr(e.Reason)
		out.ErrorRecords = append(out.ErrorRecords, re)
	}
	return out
}

// produceKeys are compared with other APIs' only: produces keep their order by themselves (Pipelined).
func produceKeys(n *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.ProduceRequest)
	for i := range req.Topics {
		t := &req.Topics[i]
		name := n.topicName(t.Topic, t.TopicID)
		for j := range t.Partitions {
			dst = append(dst, partitionKey(name, t.Partitions[j].Partition))
		}
	}
	return dst
}
