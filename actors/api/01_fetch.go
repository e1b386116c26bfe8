package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/codec/kerr"
)

// Fetch (key 1), versions 4-18, for consumers and for followers; on a controller listener the metadata log, from version 17 on.
//
// Ordering key: the fetch session where there is one, and each partition named.
// Errors of the whole reply: 70 FETCH_SESSION_ID_NOT_FOUND, 71 INVALID_FETCH_SESSION_EPOCH, 106
// FETCH_SESSION_TOPIC_ID_ERROR. Errors a partition: 1 OFFSET_OUT_OF_RANGE, 3 UNKNOWN_TOPIC_OR_PARTITION, 6
// NOT_LEADER_OR_FOLLOWER, 29 TOPIC_AUTHORIZATION_FAILED, 56 KAFKA_STORAGE_ERROR, 74 FENCED_LEADER_EPOCH, 75
// UNKNOWN_LEADER_EPOCH, 78 OFFSET_NOT_AVAILABLE, 100 UNKNOWN_TOPIC_ID, 103 INCONSISTENT_TOPIC_ID.
var fetch = &Handler{
	Key: 1, Name: "Fetch", Min: 4, Max: 18, On: OnBroker | OnController,
	Order:  Order{Keys: fetchKeys, Pipelined: false},
	Access: Access{Read, OnTopic},
	Handle: handleFetch,
}

func handleFetch(n *Node, r *Request) {
	req := r.Body.(*kmsg.FetchRequest)
	if r.Client.Controller {
		n.Controller.SendCaused(r.Cause, &controller.Fetch{Body: req, Done: func(resp *kmsg.FetchResponse) { r.Reply(resp) }})
		return
	}
	op := &fetchOp{
		node: n, request: r, reader: n.readerOf(r),
		deadline: r.Received.Add(time.Duration(max(req.MaxWaitMillis, 0)) * time.Millisecond),
		minBytes: int(min(req.MinBytes, req.MaxBytes, n.Config.Fetch.MaxBytes)),
		maxBytes: int(min(req.MaxBytes, n.Config.Fetch.MaxBytes)),
	}
	if op.code = n.Sessions.bind(n, r, op); op.code != kerr.None {
		r.Reply(op.failure())
		return
	}
	r.ReplyLater(op)
}

func fetchKeys(n *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.FetchRequest)
	if req.SessionID != 0 {
		dst = append(dst, sessionKey(req.SessionID))
		dst = n.Sessions.partitionKeys(req.SessionID, dst)
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		name := n.topicName(t.Topic, t.TopicID)
		for j := range t.Partitions {
			dst = append(dst, partitionKey(name, t.Partitions[j].Partition))
		}
	}
	return dst
}

// fetchOp is one Fetch on its way: polled by the connection's writer until it can be answered. A poll goes so:
//
//  1. take the partitions that are worth looking at: all of a fetch without session, those that changed of a session;
//  2. read each from its replica's view, without a message: the bytes stay in their files;
//  3. enough, or no use in waiting, or the time is up: bring what is not in the page cache there, and answer;
//  4. else watch the replicas, put back what has to be counted again, and wait for a wake.
type fetchOp struct {
	node     *Node
	request  *Request
	reader   reader
	deadline time.Time
	minBytes int
	maxBytes int

	set         *fetchSet
	session     *session // nil without one
	sessionID   int32
	incremental bool
	code        kerr.Code

	// results hold regions, which pin segments, from a read to the release or to the payload's Sent.
	results []fetchResult
	// warming is set once the reply is settled and waits for the disk alone; no poll reads again after that.
	warming *warming
	holding holding
}

// Deadline is when MaxWaitMs is over.
func (op *fetchOp) Deadline() time.Time { return op.deadline }

// Poll reads what is there and answers when it is enough, when waiting makes no sense or at the deadline.
func (op *fetchOp) Poll(t *kit.Turn, last bool, wake kit.Errand) (*Payload, bool) {
	op.set.exclusive.Lock()
	defer op.set.exclusive.Unlock()
	if op.warming != nil {
		if !op.warming.done() {
			return nil, false
		}
		op.dropOffline()
		return op.give(), true
	}
	parts := op.set.take(wake)
	enough := op.read(parts)
	if !enough && !last {
		op.set.putBack(op.unsettled(parts), true)
		op.release()
		op.set.arm(t, op.request.Cause, parts, op.session == nil)
		op.holding.wakeLater(op.node.Clock, wake)
		return nil, false
	}
	if op.session != nil {
		op.set.arm(t, op.request.Cause, parts, false)
		op.requeue(parts)
	}
	if op.warming = op.node.warm(op.request.Cause, op.results, wake); op.warming != nil && !op.warming.done() {
		return nil, false
	}
	return op.give(), true
}

// read fills results and tells whether the reply need not wait.
func (op *fetchOp) read(parts []*fetchPart) bool {
	req := op.request.Body.(*kmsg.FetchRequest)
	lim := fetchLimits{reader: op.reader, readCommitted: req.IsolationLevel == 1, left: op.maxBytes, first: true}
	bytes, now := 0, false
	op.results = op.results[:0]
	for _, p := range parts {
		name := op.node.fetchedName(p)
		if !op.node.Authorizer.Allowed(op.request.Client, Read, OnTopic, name) {
			op.results = append(op.results, fetchResult{part: p, code: kerr.TopicAuthorizationFailed, highWatermark: -1, lastStable: -1, start: -1})
			now = true
			continue
		}
		res := op.node.readPartition(op.set, p, name, &lim)
		bytes += int(res.region.Len)
		now = now || res.diverging != nil || res.nearer.found || res.code != kerr.None && !waitsBeside(res.code) || op.reader.late(&res)
		op.results = append(op.results, res)
	}
	op.holding.until = lim.heldUntil
	return now || bytes >= op.minBytes || op.hopeless() || bytes > 0 && op.behind()
}

// waitsBeside tells the errors beside which an empty good partition still waits (measured, facts/replication.md 11).
func waitsBeside(c kerr.Code) bool {
	return c == kerr.UnknownTopicOrPartition || c == kerr.UnknownTopicID
}

// hopeless tells that no partition of the fetch can ever bring bytes: there is none, or all are unknown.
func (op *fetchOp) hopeless() bool {
	if op.incremental && len(op.results) < int(op.session.size.Load()) {
		return false // those that are not looked at are good ones with nothing new
	}
	for i := range op.results {
		if op.results[i].code == kerr.None {
			return false
		}
	}
	return true
}

// behind tells that a partition was read from a segment that is not its last: a region ends with its segment, so
// waiting for more bytes would be waiting for what is there.
func (op *fetchOp) behind() bool {
	for i := range op.results {
		res := &op.results[i]
		if res.region.Len == 0 {
			continue
		}
		last, err := res.view.Read(res.limit-1, res.limit, 0, true)
		if err != nil {
			continue
		}
		older := last.Len > 0 && last.File != res.region.File
		last.Release()
		if older {
			return true
		}
	}
	return false
}

// unsettled are the parts that must be read again whatever changes: a wait for more bytes counts what is there
// already, an unknown topic may appear, and a moved log start is told at the deadline at the latest.
func (op *fetchOp) unsettled(parts []*fetchPart) []*fetchPart {
	if op.session == nil {
		return parts
	}
	var again []*fetchPart
	for i := range op.results {
		res := &op.results[i]
		if res.code != kerr.None || res.more(&op.reader) || res.news() {
			again = append(again, res.part)
		}
	}
	return again
}

// requeue keeps a session's partitions in line that have, or may have, more to give. Those that gave go to the back.
func (op *fetchOp) requeue([]*fetchPart) {
	var hungry, served []*fetchPart
	for i := range op.results {
		res := &op.results[i]
		switch {
		case res.region.Len > 0:
			served = append(served, res.part)
		case res.code != kerr.None || res.more(&op.reader):
			hungry = append(hungry, res.part)
		}
	}
	op.set.putBack(hungry, true)
	op.set.putBack(served, false)
}

// give makes the payload; the watches of a fetch without session end here.
func (op *fetchOp) give() *Payload {
	op.set.disarm()
	op.holding.stop()
	if op.session == nil {
		op.set.release()
	} else if op.incremental {
		op.results = op.session.changed(op.results)
	}
	op.count()
	op.recordThrottled()
	return encodeFetch(op)
}

// count counts what is answered; NONE for the reply as a whole is one more code.
func (op *fetchOp) count() {
	e := &op.node.Stats.of(op.reader.statsKey()).errors
	good, copied := int64(1), int64(0)
	for i := range op.results {
		if code := op.results[i].code; code == kerr.None {
			good++
		} else {
			e.add(code, 1)
		}
		t := op.results[i].part.traffic
		if t == nil {
			t = op.node.Stats.Elsewhere()
		}
		bytes := op.results[i].region.Len
		if op.reader.follows() {
			copied, bytes = copied+bytes, 0
		}
		t.fetched(op.results[i].code, bytes)
	}
	if copied > 0 {
		op.node.Stats.Replication.CopiedOut.Add(copied)
	}
	e.add(kerr.None, good)
}

// fetchKey is the handler's; its own table cannot be asked while it is made.
const fetchKey = 1

// FollowerFetchKey stands for the fetches of other brokers where requests are counted: Kafka tells them from those of consumers.
// It is no request's key.
const FollowerFetchKey = firstPrivate - 1

// statsKey is what a fetch is counted under.
func (r *reader) statsKey() int16 {
	if r.follows() {
		return FollowerFetchKey
	}
	return fetchKey
}

// dropOffline answers for the partitions whose directory failed while their bytes were read from it.
func (op *fetchOp) dropOffline() {
	for i := range op.results {
		res := &op.results[i]
		if res.region.Len > 0 && res.part.handle.Dir().Err() != nil {
			res.region.Release()
			*res = fetchResult{part: res.part, code: kerr.KafkaStorageError, highWatermark: -1, lastStable: -1, start: -1}
		}
	}
}

// release lets go of the regions that were read.
func (op *fetchOp) release() {
	for i := range op.results {
		op.results[i].region.Release()
	}
	op.results = op.results[:0]
}

// Abandon lets go of everything when the connection is gone.
func (op *fetchOp) Abandon() {
	op.set.exclusive.Lock()
	defer op.set.exclusive.Unlock()
	op.set.disarm()
	op.holding.stop()
	if op.session == nil {
		op.set.release()
	}
	op.release()
}

// failure is the reply of a whole-request error.
func (op *fetchOp) failure() *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = op.request.Version
	resp.ErrorCode = int16(op.code)
	return resp
}
