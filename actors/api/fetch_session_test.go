package api

import (
	"testing"
	"time"
	"unique"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/clock"
	"troupe/internal/model"
)

// fetching asks for partition 0 of topics from offset 0 on, by name.
func fetching(topics ...string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MinBytes, req.MaxBytes, req.SessionEpoch = 1, 1<<20, sessionNone
	for _, name := range topics {
		p := kmsg.NewFetchRequestTopicPartition()
		p.PartitionMaxBytes = 1 << 20
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.Partitions = name, append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// inSession is a fetch of a session that changes nothing about it.
func inSession(id, epoch int32, topics ...string) *kmsg.FetchRequest {
	req := fetching(topics...)
	req.SessionID, req.SessionEpoch = id, epoch
	return req
}

const byName = 12

// append writes one record to partition 0 of a topic.
func (w *world) append(topic, value string) {
	w.t.Helper()
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: w.clock.Now().UnixMilli(), Value: []byte(value)}).Build()
	if err != nil {
		w.t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acksAll, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{{Records: v}}
	req.Topics = append(req.Topics, t)
	resp := ask[*kmsg.ProduceResponse](w, req, 9)
	expect(w.t, "append to "+topic, resp.Topics[0].Partitions[0].ErrorCode, kerr.None)
}

func TestASessionIsAnsweredByWhatItSaysOfItself(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	first := ask[*kmsg.FetchResponse](w, inSession(0, sessionNew, "orders"), byName)
	if first.SessionID == 0 || len(first.Topics) != 1 {
		t.Fatalf("a session was asked for: %+v", first)
	}
	id := first.SessionID
	steps := []struct {
		title   string
		version int16
		req     *kmsg.FetchRequest
		code    kerr.Code
		session int32
	}{
		{"the next epoch", byName, inSession(id, 1), kerr.None, id},
		{"the same epoch again", byName, inSession(id, 1), kerr.InvalidFetchSessionEpoch, 0},
		{"an epoch left out", byName, inSession(id, 3), kerr.InvalidFetchSessionEpoch, 0},
		{"an epoch below those that mean something", byName, inSession(id, -2), kerr.InvalidFetchSessionEpoch, 0},
		{"ids where there were names", 13, inSession(id, 2), kerr.FetchSessionTopicIDError, 0},
		{"the session goes on all the same", byName, inSession(id, 2), kerr.None, id},
		{"an unknown session", byName, inSession(id+1, 1), kerr.FetchSessionIDNotFound, 0},
		{"the end of the session", byName, inSession(id, sessionNone, "orders"), kerr.None, 0},
		{"a session that has ended", byName, inSession(id, 3), kerr.FetchSessionIDNotFound, 0},
	}
	for _, s := range steps {
		resp := ask[*kmsg.FetchResponse](w, s.req, s.version)
		expect(t, s.title, resp.ErrorCode, s.code)
		if resp.SessionID != s.session {
			t.Errorf("%s: answered for session %d, want %d", s.title, resp.SessionID, s.session)
		}
	}
}

func TestTheEpochOfASessionWrapsPastZero(t *testing.T) {
	// 0 would open another session (KIP-227).
	for at, want := range map[int32]int32{1: 2, 1<<31 - 2: 1<<31 - 1, 1<<31 - 1: 1} {
		if got := nextEpoch(at); got != want {
			t.Errorf("after epoch %d comes %d, want %d", at, got, want)
		}
	}
}

func TestASessionTellsAPartitionAgainWhenItChanged(t *testing.T) {
	w := newWorld(t)
	w.topic("busy", 1)
	w.topic("quiet", 1)
	id := ask[*kmsg.FetchResponse](w, inSession(0, sessionNew, "busy", "quiet", "missing"), byName).SessionID
	told := func(epoch int32) map[string]kmsg.FetchResponseTopicPartition {
		all := map[string]kmsg.FetchResponseTopicPartition{}
		for _, topic := range ask[*kmsg.FetchResponse](w, inSession(id, epoch), byName).Topics {
			all[topic.Topic] = topic.Partitions[0]
		}
		return all
	}
	if got := told(1); len(got) != 1 || got["missing"].ErrorCode != int16(kerr.UnknownTopicOrPartition) {
		t.Errorf("nothing changed: told %+v, want the error alone", got)
	}
	w.append("busy", "news")
	got := told(2)
	if _, quiet := got["quiet"]; quiet || len(got["busy"].RecordBatches) == 0 || got["busy"].HighWatermark != 1 {
		t.Errorf("after a record: told %+v", got)
	}
	w.topic("missing", 1)
	if got := told(3); got["missing"].ErrorCode != 0 || got["missing"].HighWatermark != 0 {
		t.Errorf("an error that is over is told as %+v", got["missing"])
	}
	if got := told(4); len(got) != 1 || len(got["busy"].RecordBatches) == 0 {
		t.Errorf("the client has not moved on, and is told %+v", got)
	}
}

// held opens a session over n partitions.
func held(t *testing.T, s *Sessions, n int) *session {
	t.Helper()
	ss := &session{}
	ss.size.Store(int32(n))
	if !s.open(ss) {
		return nil
	}
	return ss
}

// facts/replication.md 11: the cache's rules of eviction.
func TestAFullCacheMakesRoomForWhoDeservesIt(t *testing.T) {
	cases := []struct {
		title           string
		age, idle       time.Duration // of the two sessions of 10 and 20 partitions
		newcomer        int
		admitted, loses int // loses is the size of the session that goes
	}{
		{"nobody is old", time.Minute, time.Minute, 1000, 0, 0},
		{"an old session that is in use, and a smaller newcomer", time.Hour, 0, 5, 0, 0},
		{"an old session that is in use, and one as small", time.Hour, 0, 10, 0, 0},
		{"old sessions that are in use, and a larger newcomer", time.Hour, 0, 11, 1, 10},
		{"sessions that nobody uses, and the smallest newcomer", time.Hour, 3 * time.Minute, 1, 1, 20},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			now := clock.NewManual(time.Unix(1_000_000, 0))
			cache := NewSessions(now, 2)
			large := held(t, cache, 20)
			now.Advance(time.Millisecond)
			small := held(t, cache, 10)
			now.Advance(c.age)
			small.lastUsed, large.lastUsed = now.Now().Add(-c.idle), now.Now().Add(-c.idle-time.Millisecond)
			newcomer := held(t, cache, c.newcomer)
			if (newcomer != nil) != (c.admitted == 1) {
				t.Fatalf("admitted: %v", newcomer != nil)
			}
			holds, evicted := cache.Count()
			if holds != 2 || evicted != uint64(c.admitted) {
				t.Errorf("%d sessions are held and %d were evicted", holds, evicted)
			}
			for size, ss := range map[int]*session{10: small, 20: large} {
				if there := cache.byID[ss.id] == ss; there == (size == c.loses) {
					t.Errorf("the session of %d partitions is there: %v", size, there)
				}
			}
		})
	}
}

func called(topic string) *fetchPart { return &fetchPart{topic: unique.Make(topicName{name: topic})} }

func TestASetGivesPartitionsInTurn(t *testing.T) {
	var s fetchSet
	parts := []*fetchPart{called("a"), called("b"), called("c")}
	for _, p := range parts {
		s.add(p)
	}
	names := func(list []*fetchPart) (all string) {
		for _, p := range list {
			all += p.name()
		}
		return all
	}
	woken := 0
	if got := names(s.take(Wake(func() { woken++ }))); got != "abc" {
		t.Fatalf("first taken %q, want all in order", got)
	}
	s.Changed(nil, parts[2].key)
	s.Changed(nil, parts[2].key)
	s.putBack([]*fetchPart{parts[1]}, true)
	s.putBack([]*fetchPart{parts[0]}, false)
	if got := names(s.take(Wake(func() {}))); got != "bca" {
		t.Errorf("taken %q, want those put in front, what changed, and those put behind", got)
	}
	if woken != 2 {
		t.Errorf("woken %d times by two changes", woken)
	}
	s.drop(parts[1])
	late := parts[1].key
	d := called("d")
	s.add(d)
	if d.key != late || len(s.parts) != 3 {
		t.Errorf("the key of a dropped partition is not used again: %d of %d", d.key, len(s.parts))
	}
	s.putBack([]*fetchPart{parts[1]}, false)
	if got := names(s.take(nil)); got != "d" {
		t.Errorf("taken %q, want the new one and not the dropped one", got)
	}
	s.release()
	for _, p := range parts {
		s.Changed(nil, p.key) // calls that were on their way
	}
	if got := s.take(nil); len(got) != 0 {
		t.Errorf("a set that was given up has %q", names(got))
	}
}

func TestALongPollIsWokenByTheReplica(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	req := fetching("orders")
	req.MaxWaitMillis = 60_000
	s := w.send(req, byName)
	woken := make(chan struct{}, 10)
	wake := Wake(func() { woken <- struct{}{} })
	if _, ok := s.later.Poll(nil, false, wake); ok {
		t.Fatal("an empty log was answered before its time")
	}
	w.settle()
	if len(woken) != 0 {
		t.Fatal("woken by nothing")
	}
	w.append("orders", "news")
	if len(woken) == 0 {
		t.Fatal("a record wakes nobody")
	}
	payload, ok := s.later.Poll(nil, false, wake)
	if !ok {
		t.Fatal("there is a record, and the fetch waits")
	}
	resp := decoded[*kmsg.FetchResponse](t, req, w.filled(payload))
	if len(resp.Topics[0].Partitions[0].RecordBatches) == 0 {
		t.Error("answered without the record")
	}
}

// A poll whose least bytes are not there waits; but not for bytes that lie in a later segment.
func TestALongPollDoesNotWaitForWhatALaterSegmentHolds(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1, "segment.bytes", "1048576")
	large := string(make([]byte, 700_000))
	w.append("orders", large)
	req := fetching("orders")
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 60_000, 1_000_000, 5_000_000, 5_000_000
	if _, ok := w.send(req, byName).later.Poll(nil, false, Wake(func() {})); ok {
		t.Fatal("answered with fewer bytes than were asked for at least")
	}
	w.settle()
	w.append("orders", large)
	payload, ok := w.send(req, byName).later.Poll(nil, false, Wake(func() {}))
	if !ok {
		t.Fatal("the first segment is not given because the second would be needed too")
	}
	payload.Sent()
}

func TestABrokerIsToldThatItFollowsNobody(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	for version := fetch.Min; version <= 12; version++ {
		req := fetching("orders")
		req.ReplicaID = 5
		got := ask[*kmsg.FetchResponse](w, req, version).Topics[0].Partitions[0]
		expect(t, "without an epoch", got.ErrorCode, kerr.NotLeaderOrFollower)
		if version >= 9 {
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = 0
			got = ask[*kmsg.FetchResponse](w, req, version).Topics[0].Partitions[0]
			expect(t, "with the leader's epoch", got.ErrorCode, kerr.UnknownLeaderEpoch)
		}
	}
	req := fetching("orders")
	req.Topics[0].TopicID = w.node.Replicas.Get(model.TopicPartition{Topic: "orders"}).TopicID
	req.ReplicaState.ID = 5
	got := ask[*kmsg.FetchResponse](w, req, 15).Topics[0].Partitions[0]
	expect(t, "by id, as KIP-903 has it", got.ErrorCode, kerr.NotLeaderOrFollower)
}

func TestASessionIsGivenAtItsDeadlineWhatIsThere(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.topic("audit", 1)
	id := ask[*kmsg.FetchResponse](w, inSession(0, sessionNew, "orders", "audit"), byName).SessionID
	w.append("orders", "a record")
	req := inSession(id, 1)
	req.MinBytes, req.MaxWaitMillis = 100_000, 60_000
	s := w.send(req, byName)
	for range 2 { // nothing but its wake-ups tells a poll how often it is asked
		if _, ok := s.later.Poll(nil, false, Wake(func() {})); ok {
			t.Fatal("answered with fewer bytes than were asked for at least")
		}
		w.settle()
	}
	w.append("audit", "another")
	payload, ok := s.later.Poll(nil, true, Wake(func() {}))
	if !ok {
		t.Fatal("not answered at the deadline")
	}
	if got := decoded[*kmsg.FetchResponse](t, req, w.filled(payload)).Topics; len(got) != 2 {
		t.Errorf("given %+v, want the records of both topics", got)
	}
}
