package api

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/internal/model"
)

// replicated makes a topic of one partition that brokers 1, 2 and 3 have and broker 1 leads at epoch 3, with one record in it.
func (w *world) replicated(name string, settings ...string) model.TopicID {
	w.t.Helper()
	id := w.topic(name, 1, settings...)
	three := []model.BrokerID{1, 2, 3}
	h := w.node.Replicas.Get(model.TopicPartition{Topic: name})
	w.shard.Send(&replica.Order{Handle: h, Message: &replica.BecomeLeader{LeaderEpoch: 3, PartitionEpoch: 1, ISR: three, Replicas: three}})
	w.settle()
	w.appendAcks1(name, "first")
	return id
}

func (w *world) appendAcks1(topic, value string) {
	w.t.Helper()
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: w.clock.Now().UnixMilli(), Value: []byte(value)}).Build()
	if err != nil {
		w.t.Fatal(err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = 1, 1000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: v}}}}
	resp := ask[*kmsg.ProduceResponse](w, req, 9)
	expect(w.t, "append to "+topic, resp.Topics[0].Partitions[0].ErrorCode, kerr.None)
}

// following is the fetch of a follower that knows the leader's epoch and high watermark.
func following(id model.TopicID, follower int32, process int64, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MinBytes, req.MaxBytes, req.SessionEpoch = 1, 1<<20, sessionNone
	req.ReplicaState.ID, req.ReplicaState.Epoch = follower, process
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes, p.FetchOffset, p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.HighWatermark = 1<<20, offset, 3, -1, 0
	t := kmsg.NewFetchRequestTopic()
	t.TopicID, t.Partitions = id, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// from makes the connection that of another broker, which has shaken hands.
func (w *world) from(id model.BrokerID) {
	w.client = &Client{Connection: 1, Listener: "PLAINTEXT", Peer: &private.Identity{NodeID: id}}
}

const fetchV18 = 18

func TestAFollowerIsGivenWhatIsNotCommitted(t *testing.T) {
	w := newWorld(t)
	id := w.replicated("orders")
	w.from(2)
	p := ask[*kmsg.FetchResponse](w, following(id, 2, -1, 0), fetchV18).Topics[0].Partitions[0]
	expect(t, "a follower's fetch", p.ErrorCode, kerr.None)
	if len(p.RecordBatches) == 0 || p.HighWatermark != 0 {
		t.Errorf("%d bytes, high watermark %d", len(p.RecordBatches), p.HighWatermark)
	}
}

func TestWhereFollowersStandMovesTheHighWatermark(t *testing.T) {
	w := newWorld(t)
	id := w.replicated("orders")
	mark := func() model.Offset {
		return w.node.Replicas.Get(model.TopicPartition{Topic: "orders"}).View().HighWatermark
	}
	for _, s := range []struct {
		title    string
		follower int32
		offset   int64
		mark     model.Offset
	}{
		{"one has nothing yet", 2, 0, 0}, {"it has all", 2, 1, 0}, {"the other too", 3, 1, 1},
	} {
		w.from(model.BrokerID(s.follower))
		expect(t, s.title, ask[*kmsg.FetchResponse](w, following(id, s.follower, -1, s.offset), fetchV18).ErrorCode, kerr.None)
		w.settle()
		if got := mark(); got != s.mark {
			t.Errorf("%s: the high watermark is %d, want %d", s.title, got, s.mark)
		}
	}
}

// Errors of facts/replication.md 11.
func TestWhoIsNoReplicaIsNotGivenWhatIsNotCommitted(t *testing.T) {
	w := newWorld(t)
	id := w.replicated("orders")
	w.apply(&record.RegisterBroker{BrokerID: 2, BrokerEpoch: 50, IncarnationID: model.UUID{2}})
	registered := int64(w.registration(2).Epoch)
	for title, c := range map[string]struct {
		peer     model.BrokerID // -1: a client that has not shaken hands
		follower int32
		process  int64
		epoch    int32
		code     kerr.Code
	}{
		"a replica":                                       {2, 2, registered, 3, kerr.None},
		"one that does not tell its process":              {2, 2, -1, 3, kerr.None},
		"an earlier process of a replica":                 {2, 2, registered - 1, 3, kerr.NotLeaderOrFollower},
		"a replica that is not registered yet":            {3, 3, 0, 3, kerr.NotLeaderOrFollower},
		"a broker without a replica":                      {4, 4, -1, 3, kerr.UnknownLeaderEpoch},
		"the same without a leader epoch":                 {4, 4, -1, -1, kerr.NotLeaderOrFollower},
		"a client that says it is a replica":              {-1, 2, -1, 3, kerr.UnknownLeaderEpoch},
		"a broker that says it is another":                {3, 2, -1, 3, kerr.UnknownLeaderEpoch},
		"a replica that follows the leader before":        {2, 2, -1, 2, kerr.FencedLeaderEpoch},
		"a replica that knows of the next leader already": {2, 2, -1, 4, kerr.UnknownLeaderEpoch},
	} {
		w.from(c.peer)
		if c.peer < 0 {
			w.client.Peer = nil
		}
		req := following(id, c.follower, c.process, 0)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = c.epoch
		p := ask[*kmsg.FetchResponse](w, req, fetchV18).Topics[0].Partitions[0]
		expect(t, title, p.ErrorCode, c.code)
		if c.code != kerr.None && len(p.RecordBatches) > 0 {
			t.Errorf("%s: records are given", title)
		}
	}
}

func (w *world) registration(id model.BrokerID) *image.Broker {
	b, ok := w.image.Broker(id)
	if !ok {
		w.t.Fatalf("broker %d is not registered", id)
	}
	return b
}

// A log that left this one does not count for the high watermark, however long it is (KIP-101).
func TestALogThatDivergesIsToldWhereAndDoesNotCount(t *testing.T) {
	w := newWorld(t)
	id := w.replicated("orders")
	three := []model.BrokerID{1, 2, 3}
	h := w.node.Replicas.Get(model.TopicPartition{Topic: "orders"})
	w.shard.Send(&replica.Order{Handle: h, Message: &replica.BecomeLeader{LeaderEpoch: 5, PartitionEpoch: 2, ISR: three, Replicas: three}})
	w.settle()
	w.appendAcks1("orders", "second")
	for _, follower := range []int32{2, 3} { // they have two records of epoch 3, of which this leader has one
		w.from(model.BrokerID(follower))
		req := following(id, follower, -1, 2)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch, req.Topics[0].Partitions[0].LastFetchedEpoch = 5, 3
		p := ask[*kmsg.FetchResponse](w, req, fetchV18).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.DivergingEpoch.Epoch != 3 || p.DivergingEpoch.EndOffset != 1 || len(p.RecordBatches) > 0 {
			t.Errorf("follower %d is told %+v", follower, p)
		}
	}
	if got := h.View().HighWatermark; got != 0 {
		t.Errorf("the high watermark is %d", got)
	}
}

// poll asks a fetch that waits, and tells whether it is answered before its time is up.
func (w *world) poll(s *slot, woken *int) bool {
	w.t.Helper()
	p, ok := s.later.Poll(nil, false, Wake(func() { *woken++ }))
	if ok {
		p.Sent()
	}
	return ok
}

func TestAFollowersFetchWaitsForTheLogsEnd(t *testing.T) {
	w := newWorld(t)
	id := w.replicated("orders")
	w.from(2)
	req := following(id, 2, -1, 1)
	req.MaxWaitMillis = int32(time.Minute.Milliseconds())
	woken := 0
	s := w.send(req, fetchV18)
	if w.poll(s, &woken) {
		t.Fatal("answered with nothing")
	}
	w.settle()
	w.client = &Client{Connection: 2, Listener: "PLAINTEXT"}
	w.appendAcks1("orders", "second")
	if woken == 0 || !w.poll(s, &woken) {
		t.Errorf("an append below the high watermark: woken %d times", woken)
	}
}

// KIP-1166: what a follower knows of the high watermark is what it begins with as a leader.
func TestAFollowerThatDoesNotKnowTheHighWatermarkIsAnsweredAtOnce(t *testing.T) {
	w := newWorld(t)
	id := w.replicated("orders")
	for _, follower := range []int32{2, 3} {
		w.from(model.BrokerID(follower))
		ask[*kmsg.FetchResponse](w, following(id, follower, -1, 1), fetchV18)
		w.settle()
	}
	for known, at := range map[int64]bool{0: true, 1: false} {
		req := following(id, 3, -1, 1)
		req.MaxWaitMillis, req.Topics[0].Partitions[0].HighWatermark = int32(time.Minute.Milliseconds()), known
		woken := 0
		if got := w.poll(w.send(req, fetchV18), &woken); got != at {
			t.Errorf("a follower that knows of %d, while it is 1, is answered at once: %v", known, got)
		}
	}
}

func TestAFollowerServesConsumersWhatItKnowsToBeCommitted(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.append("orders", "committed")
	h := w.node.Replicas.Get(model.TopicPartition{Topic: "orders"})
	two := []model.BrokerID{2, 1}
	w.shard.Send(&replica.Order{Handle: h, Message: &replica.BecomeFollower{Leader: 2, LeaderEpoch: 1, PartitionEpoch: 1, ISR: two, Replicas: two}})
	w.settle()
	for _, c := range []struct {
		title   string
		version int16
		epoch   int32
		rack    string
		offset  int64
		code    kerr.Code
	}{
		{"a consumer that knows the leader", 11, 1, "", 0, kerr.None},
		{"one that may take this replica for the leader", 11, -1, "", 0, kerr.NotLeaderOrFollower},
		{"one that was sent here, as its rack tells: librdkafka 2.0 names no epoch", 11, -1, "b", 0, kerr.None},
		{"one that knows the leader before", 11, 0, "b", 0, kerr.FencedLeaderEpoch},
		{"version 10, which does not know of followers", 10, 1, "b", 0, kerr.NotLeaderOrFollower},
		{"one that knows the leader and has read more", 11, 1, "b", 2, kerr.OffsetOutOfRange},
		{"one that may take this replica for the leader and has read more", 11, -1, "b", 2, kerr.OffsetNotAvailable},
	} {
		req := fetching("orders")
		req.Rack, req.Topics[0].Partitions[0].FetchOffset = c.rack, c.offset
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = c.epoch
		p := ask[*kmsg.FetchResponse](w, req, c.version).Topics[0].Partitions[0]
		expect(t, c.title, p.ErrorCode, c.code)
		if given := len(p.RecordBatches) > 0; given != (c.code == kerr.None) {
			t.Errorf("%s: %d bytes", c.title, len(p.RecordBatches))
		}
	}
}

// After a power cut the metadata still names this broker as the leader of the epoch that consumers know, but its log may end
// before what they have read.
func TestAReplicaThatFollowsNobodyServesNoConsumer(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.append("orders", "committed")
	w.shard.Send(&replica.Order{Handle: w.node.Replicas.Get(model.TopicPartition{Topic: "orders"}), Message: &replica.Resign{}})
	started := replica.NewHandle(model.TopicPartition{Topic: "orders", Partition: 1}, model.TopicID{}, w.node.Dirs[0],
		w.node.Replicas.Get(model.TopicPartition{Topic: "orders"}).Config())
	w.node.Replicas.Put(started)
	w.shard.Send(&replica.Host{Handle: started, Fresh: true, Done: func() {}})
	w.settle()
	for partition, title := range []string{"one that led until now", "one that has no order yet"} {
		req := fetching("orders")
		asked := &req.Topics[0].Partitions[0]
		asked.Partition, asked.CurrentLeaderEpoch, asked.FetchOffset = int32(partition), 0, 7
		expect(t, title, ask[*kmsg.FetchResponse](w, req, 11).Topics[0].Partitions[0].ErrorCode, kerr.NotLeaderOrFollower)
	}
}
