package api

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
)

func TestTrafficIsCountedByWhatBecameOfABatch(t *testing.T) {
	b := batch.NewBuilder(batch.Options{})
	for range 3 {
		b.Add(batch.Record{Value: []byte("v")})
	}
	v, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(v))
	for _, c := range []struct {
		code                                       kerr.Code
		messages, bytes, rejected, corrupt, failed int64
	}{
		{code: kerr.None, messages: 3, bytes: size},
		{code: kerr.RequestTimedOut, messages: 3, bytes: size},
		{code: kerr.NotEnoughReplicasAfterAppend, messages: 3, bytes: size},
		{code: kerr.NotEnoughReplicas, failed: 1},
		{code: kerr.CorruptMessage, rejected: size, corrupt: 1},
		{code: kerr.MessageTooLarge, rejected: size},
		{code: kerr.RecordListTooLarge, rejected: size},
		{code: kerr.InvalidRecord, rejected: size, failed: 1},
		{code: kerr.InvalidTimestamp, rejected: size, failed: 1},
		{code: kerr.OutOfOrderSequenceNumber, failed: 1},
		{code: kerr.NotLeaderOrFollower},
		{code: kerr.UnknownTopicOrPartition},
		{code: kerr.KafkaStorageError},
		{code: kerr.UnknownServerError, failed: 1},
	} {
		var tr Traffic
		tr.produced(c.code, v)
		got := [...]int64{tr.MessagesIn.Load(), tr.BytesIn.Load(), tr.BytesRejected.Load(), tr.CorruptBatches.Load(), tr.FailedProduce.Load()}
		if want := [...]int64{c.messages, c.bytes, c.rejected, c.corrupt, c.failed}; got != want || tr.ProduceRequests.Load() != 1 {
			t.Errorf("%s: messages, bytes, rejected, corrupt, failed are %v, want %v", c.code.Name(), got, want)
		}
	}
}

func TestTopicsAboveTheBudgetAreCountedTogether(t *testing.T) {
	var s Stats
	for i := range TopicBudget + 50 {
		s.Topic(fmt.Sprint("topic-", i)).MessagesIn.Add(1)
	}
	s.Topic("topic-0").MessagesIn.Add(1)
	if n, rest := len(s.Topics()), s.Elsewhere().MessagesIn.Load(); n != TopicBudget || rest != 50 {
		t.Errorf("%d topics apart and %d messages together, want %d and 50", n, rest, TopicBudget)
	}
	if total := s.Total().MessagesIn.Load(); total != TopicBudget+51 {
		t.Errorf("%d in total, want %d", total, TopicBudget+51)
	}
}

func TestWhatAForgottenTopicHadStaysInTheTotal(t *testing.T) {
	var s Stats
	s.Topic("a").BytesOut.Add(3)
	s.Topic("b").BytesOut.Add(4)
	s.Forget(func(name string) bool { return name == "a" })
	if len(s.Topics()) != 1 || s.Total().BytesOut.Load() != 7 {
		t.Errorf("%d topics and %d bytes, want 1 and 7", len(s.Topics()), s.Total().BytesOut.Load())
	}
	if s.Topic("a").BytesOut.Load() != 0 {
		t.Error("a topic that came back has what the former one had")
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	var s Stats
	name := "orders"
	s.Topic(name)
	served := &Served{Handler: produce, Version: 9, Total: time.Millisecond, Stages: [stages]time.Duration{Local: 1000, Send: 1000}}
	op := &produceOp{}
	op.parts = op.one[:]
	served.Reply = op
	found := &Served{Handler: offsetCommit, Version: 9, Reply: committedReply()}
	s.Observe(served)
	s.Observe(found)
	per := testing.AllocsPerRun(100, func() {
		s.Topic(name).fetched(kerr.None, 100)
		s.Observe(served)
		s.Observe(found)
	})
	if per != 0 {
		t.Errorf("%v allocations a request", per)
	}
}

// committedReply has two good partitions and a bad one.
func committedReply() *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = 9
	bad := int16(kerr.UnknownTopicOrPartition)
	resp.Topics = []kmsg.OffsetCommitResponseTopic{
		{Partitions: []kmsg.OffsetCommitResponseTopicPartition{{ErrorCode: 0}, {ErrorCode: bad}}},
		{Partitions: []kmsg.OffsetCommitResponseTopicPartition{{ErrorCode: 0}}},
	}
	return resp
}

func TestEachCodeOfAReplyIsCounted(t *testing.T) {
	fetched := kmsg.NewPtrOffsetFetchResponse()
	fetched.Groups = []kmsg.OffsetFetchResponseGroup{
		{ErrorCode: int16(kerr.NotCoordinator)},
		{Topics: []kmsg.OffsetFetchResponseGroupTopic{{Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{{}, {}}}}},
	}
	joined := kmsg.NewPtrJoinGroupResponse()
	joined.ErrorCode = int16(kerr.MemberIDRequired)
	produced := &produceOp{parts: make([]producePart, 5)}
	produced.parts[1].result.Code, produced.parts[4].result.Code = kerr.NotLeaderOrFollower, kerr.UnknownServerError
	for _, c := range []struct {
		handler *Handler
		version int16
		reply   Body
		want    map[kerr.Code]int64
	}{
		{offsetCommit, 9, committedReply(), map[kerr.Code]int64{kerr.None: 2, kerr.UnknownTopicOrPartition: 1}},
		{offsetFetch, 9, fetched, map[kerr.Code]int64{kerr.NotCoordinator: 1, kerr.None: 3}},
		{joinGroup, 9, joined, map[kerr.Code]int64{kerr.MemberIDRequired: 1}},
		{apiVersions, 3, kmsg.NewPtrApiVersionsResponse(), map[kerr.Code]int64{kerr.None: 1}},
		{findCoordinator, 4, &kmsg.FindCoordinatorResponse{Coordinators: make([]kmsg.FindCoordinatorResponseCoordinator, 3)}, map[kerr.Code]int64{kerr.None: 3}},
		{findCoordinator, 3, &kmsg.FindCoordinatorResponse{ErrorCode: 15}, map[kerr.Code]int64{kerr.CoordinatorNotAvailable: 1}},
		{produce, 9, produced, map[kerr.Code]int64{kerr.None: 3, kerr.NotLeaderOrFollower: 1, kerr.UnknownServerError: 1}},
		{heartbeat, 4, &kmsg.HeartbeatResponse{ErrorCode: 9999}, map[kerr.Code]int64{kerr.UnknownServerError: 1}},
	} {
		var s Stats
		s.Observe(&Served{Handler: c.handler, Version: c.version, Reply: c.reply})
		if got := s.Requests(c.handler.Key).Errors(); !maps.Equal(got, c.want) {
			t.Errorf("%s version %d: %v, want %v", c.handler.Name, c.version, got, c.want)
		}
	}
}

func TestEveryRequestHasATimeInEveryStage(t *testing.T) {
	var s Stats
	for i := range time.Duration(10) {
		s.Observe(&Served{Handler: produce, Total: time.Second, Stages: [stages]time.Duration{Queue: 0, Local: i * time.Millisecond}})
	}
	r := s.Requests(produce.Key)
	all := r.Times.Read()
	queue, local := r.Stage(Queue, &all), r.Stage(Local, &all)
	if queue.Count != 10 || queue.Sum != 0 || queue.Quantile(1) > 8*time.Microsecond {
		t.Errorf("queue: %d in %v", queue.Count, queue.Sum)
	}
	if local.Count != 10 || local.Sum != 45*time.Millisecond {
		t.Errorf("local: %d in %v, want 10 in 45ms", local.Count, local.Sum)
	}
}
