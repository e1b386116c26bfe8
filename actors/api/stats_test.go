package api

import (
	"fmt"
	"testing"
	"time"

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
	s.Observe(produce, 9, time.Millisecond)
	per := testing.AllocsPerRun(100, func() {
		s.Topic(name).fetched(kerr.None, 100)
		s.Observe(produce, 9, time.Millisecond)
	})
	if per != 0 {
		t.Errorf("%v allocations a request", per)
	}
}
