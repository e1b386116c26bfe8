package api

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// offsetsOf asks for offsets of partitions of one topic.
func offsetsOf(topic string, replica int32, parts ...kmsg.ListOffsetsRequestTopicPartition) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = replica
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, parts
	req.Topics = append(req.Topics, t)
	return req
}

func at(partition int32, timestamp int64) kmsg.ListOffsetsRequestTopicPartition {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	return p
}

func TestOffsetsAreFoundByTime(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	began := w.clock.Now().UnixMilli()
	for range 3 {
		w.append("orders", "x")
		w.clock.Advance(time.Second)
	}
	cases := []struct {
		title           string
		timestamp       int64
		offset, when    int64
		epoch           int32
		oldestSupported int16
	}{
		{"the latest", latestOffset, 3, -1, 0, 1},
		{"the earliest", earliestOffset, 0, -1, 0, 1},
		{"the largest timestamp", maxTimestampOffset, 2, began + 2000, 0, 7},
		{"the earliest on disk", earliestLocalOffset, 0, -1, 0, 8},
		{"the latest that is tiered", latestTieredOffset, -1, -1, -1, 9},
		{"the earliest that waits for tiering", earliestPendingTiers, -1, -1, -1, 11},
		{"a time between records", began + 1, 1, began + 1000, 0, 1},
		{"a time past all records", began + 2001, -1, -1, -1, 1},
	}
	for _, c := range cases {
		for version := listOffsets.Min; version <= listOffsets.Max; version++ {
			got := ask[*kmsg.ListOffsetsResponse](w, offsetsOf("orders", consumerReplica, at(0, c.timestamp)), version).Topics[0].Partitions[0]
			if version < c.oldestSupported {
				expect(t, c.title, got.ErrorCode, kerr.UnsupportedVersion)
				continue
			}
			epoch := c.epoch
			if version < 4 {
				epoch = -1 // the reply has no place for it
			}
			if got.ErrorCode != 0 || got.Offset != c.offset || got.Timestamp != c.when || got.LeaderEpoch != epoch {
				t.Errorf("v%d: %s is %+v, want offset %d at %d, epoch %d", version, c.title, got, c.offset, c.when, epoch)
			}
		}
	}
}

// The answers are Kafka 4.3.1's: topics and partitions are merged, and the timestamp is judged before the topic.
func TestListOffsetsJudgesInKafkasOrder(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 2)
	req := offsetsOf("orders", consumerReplica, at(0, latestOffset), at(9, latestOffset))
	req.Topics = append(req.Topics, offsetsOf("missing", consumerReplica, at(0, -9), at(1, latestOffset)).Topics...)
	again := at(0, earliestOffset)
	ahead := at(1, latestOffset)
	ahead.CurrentLeaderEpoch = 4
	req.Topics = append(req.Topics, offsetsOf("orders", consumerReplica, again, ahead).Topics...)
	resp := ask[*kmsg.ListOffsetsResponse](w, req, 11)
	if len(resp.Topics) != 2 || len(resp.Topics[0].Partitions) != 3 || len(resp.Topics[1].Partitions) != 2 {
		t.Fatalf("answered %+v, want three partitions of orders and two of missing", resp.Topics)
	}
	orders, missing := resp.Topics[0].Partitions, resp.Topics[1].Partitions
	expect(t, "a partition named twice", orders[0].ErrorCode, kerr.InvalidRequest)
	expect(t, "a partition that is not there", orders[1].ErrorCode, kerr.UnknownTopicOrPartition)
	expect(t, "a client ahead of the leader", orders[2].ErrorCode, kerr.UnknownLeaderEpoch)
	expect(t, "a timestamp that means nothing, of a topic that is not there", missing[0].ErrorCode, kerr.UnsupportedVersion)
	expect(t, "a topic that is not there", missing[1].ErrorCode, kerr.UnknownTopicOrPartition)
	for _, p := range append(orders, missing...) {
		if p.Offset != -1 || p.Timestamp != -1 || p.LeaderEpoch != -1 {
			t.Errorf("beside an error: %+v, want -1 each", p)
		}
	}
}

// KIP-207: what the leader before had committed may be more than a new one knows until its followers have fetched.
func TestWhereTheLogEndsIsNotToldBeforeANewLeaderKnowsWhatIsCommitted(t *testing.T) {
	w := newWorld(t)
	id := w.replicated("orders") // a record of epoch 3 that nobody else has
	three := []model.BrokerID{1, 2, 3}
	h := w.node.Replicas.Get(model.TopicPartition{Topic: "orders"})
	w.shard.Send(&replica.Order{Handle: h, Message: &replica.BecomeLeader{LeaderEpoch: 5, PartitionEpoch: 2, ISR: three, Replicas: three}})
	w.settle()
	const longAgo = 1000
	tells := func(when string, timestamp, replicaID int32, version int16, code kerr.Code, offset int64) {
		t.Helper()
		p := ask[*kmsg.ListOffsetsResponse](w, offsetsOf("orders", replicaID, at(0, int64(timestamp))), version).Topics[0].Partitions[0]
		if kerr.Code(p.ErrorCode) != code || p.Offset != offset {
			t.Errorf("%s, v%d of replica %d for %d: %s, offset %d; want %s, %d", when, version, replicaID, timestamp, kerr.Code(p.ErrorCode).Name(), p.Offset, code.Name(), offset)
		}
	}
	const early, late = "before its followers have fetched", "after that"
	tells(early, latestOffset, consumerReplica, 11, kerr.OffsetNotAvailable, -1)
	tells(early, latestOffset, consumerReplica, 5, kerr.OffsetNotAvailable, -1)
	tells(early, latestOffset, consumerReplica, 4, kerr.LeaderNotAvailable, -1)
	tells(early, longAgo, consumerReplica, 11, kerr.OffsetNotAvailable, -1)
	tells(early, longAgo, consumerReplica, 4, kerr.LeaderNotAvailable, -1)
	tells(early, earliestOffset, consumerReplica, 11, kerr.None, 0)
	tells(early, latestOffset, debugger, 11, kerr.None, 1)
	for _, follower := range []int32{2, 3} {
		w.from(model.BrokerID(follower))
		req := following(id, follower, -1, 1)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = 5
		ask[*kmsg.FetchResponse](w, req, fetchV18)
		w.settle()
	}
	w.client = &Client{Connection: 2, Listener: "PLAINTEXT"}
	tells(late, latestOffset, consumerReplica, 11, kerr.None, 1)
	tells(late, latestOffset, consumerReplica, 4, kerr.None, 1)
	tells(late, longAgo, consumerReplica, 11, kerr.None, 0)
}

func TestAReaderSeesTheLogUpToItsLimit(t *testing.T) {
	view := &partitionlog.View{LogStart: 2, LastStable: 5, HighWatermark: 8, LogEnd: 10}
	cases := []struct {
		title     string
		replica   int32
		committed bool
		want      model.Offset
	}{
		{"a consumer", consumerReplica, false, 8},
		{"a consumer of committed transactions", consumerReplica, true, 5},
		{"a broker", 3, false, 10},
		{"a broker, whatever it says of isolation", 3, true, 10},
		{"a tool that acts as a broker", -2, false, 10},
	}
	for _, c := range cases {
		if got := readLimit(view, c.replica, c.committed); got != c.want {
			t.Errorf("%s sees records before %d, want %d", c.title, got, c.want)
		}
	}
}

func TestEpochsEndWhereTheLeadersDo(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.append("orders", "x")
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
	topic.Topic = "orders"
	for _, epoch := range []int32{0, 1, 0} {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.LeaderEpoch = epoch
		topic.Partitions = append(topic.Partitions, p)
	}
	topic.Partitions[2].Partition = 3
	req.Topics = append(req.Topics, topic)
	for version := offsetForLeaderEpoch.Min; version <= offsetForLeaderEpoch.Max; version++ {
		got := ask[*kmsg.OffsetForLeaderEpochResponse](w, req, version).Topics[0].Partitions
		if got[0].ErrorCode != 0 || got[0].LeaderEpoch != 0 || got[0].EndOffset != 1 {
			t.Errorf("v%d: the leader's epoch ends as %+v, want at 1", version, got[0])
		}
		if got[1].ErrorCode != 0 || got[1].LeaderEpoch != -1 || got[1].EndOffset != -1 {
			t.Errorf("v%d: a later epoch ends as %+v, want -1 without an error", version, got[1])
		}
		expect(t, "a partition that is not there", got[2].ErrorCode, kerr.UnknownTopicOrPartition)
	}
}

// deleting asks for one partition's records before an offset to be deleted.
func deleting(topic string, partition int32, before int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 1000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: before}}
	req.Topics = append(req.Topics, t)
	return req
}

// All but the last were asked of Kafka 4.3.1.
func TestDeleteRecordsIsRefusedWhereKafkaRefusesIt(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.topic("compacted", 1, "cleanup.policy", "compact")
	w.topic("both", 1, "cleanup.policy", "compact,delete")
	w.topic("neither", 1, "cleanup.policy", "")
	w.topic("__consumer_offsets", 1)
	w.apply(&record.Topic{Name: "elsewhere", ID: model.TopicID{9}}, &record.Partition{TopicID: model.TopicID{9}, Leader: 2, Replicas: []model.BrokerID{2}, ISR: []model.BrokerID{2}})
	for range 3 {
		w.append("orders", "x")
	}
	cases := []struct {
		title     string
		topic     string
		partition int32
		before    int64
		want      kerr.Code
		low       int64
	}{
		{"two of three records", "orders", 0, 2, kerr.None, 2},
		{"fewer than are deleted already", "orders", 0, 1, kerr.None, 2},
		{"past the high watermark", "orders", 0, 4, kerr.OffsetOutOfRange, -1},
		{"below zero", "orders", 0, -2, kerr.OffsetOutOfRange, -1},
		{"up to the high watermark", "orders", 0, -1, kerr.None, 3},
		{"a partition that is not there", "orders", 7, 0, kerr.UnknownTopicOrPartition, -1},
		{"a topic that is not there", "missing", 0, 0, kerr.UnknownTopicOrPartition, -1},
		{"a topic that is only compacted", "compacted", 0, 0, kerr.PolicyViolation, -1},
		{"a topic that is compacted and cut", "both", 0, 0, kerr.None, 0},
		{"a topic that is neither", "neither", 0, 0, kerr.None, 0},
		{"an internal topic", "__consumer_offsets", 0, 0, kerr.InvalidTopicException, -1},
		{"an internal topic's missing partition", "__consumer_offsets", 9, 0, kerr.UnknownTopicOrPartition, -1},
		{"a partition that another broker leads", "elsewhere", 0, 0, kerr.NotLeaderOrFollower, -1},
	}
	for _, c := range cases {
		for version := deleteRecords.Min; version <= deleteRecords.Max; version++ {
			got := ask[*kmsg.DeleteRecordsResponse](w, deleting(c.topic, c.partition, c.before), version).Topics[0].Partitions[0]
			expect(t, c.title, got.ErrorCode, c.want)
			if got.LowWatermark != c.low {
				t.Errorf("%s: low watermark %d, want %d", c.title, got.LowWatermark, c.low)
			}
		}
	}
}

func TestDeleteRecordsIsAnsweredAtItsDeadline(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.append("orders", "x")
	req := deleting("orders", 0, 1)
	req.SetVersion(2)
	req.TimeoutMillis = 5000
	s := &slot{}
	w.node.Handle(NewRequest(Arrival{Handler: deleteRecords, Version: 2, Body: req, Client: w.client, Received: w.clock.Now(), Slot: s}))
	if wait := s.later.Deadline().Sub(w.clock.Now()); wait != 5*time.Second {
		t.Errorf("the client is answered after %v at the latest, want 5s", wait)
	}
	woken := 0
	if _, ok := s.later.Poll(nil, false, Wake(func() { woken++ })); ok {
		t.Fatal("answered before the replica was asked")
	}
	payload, ok := s.later.Poll(nil, true, Wake(func() {}))
	if !ok {
		t.Fatal("not answered at the deadline")
	}
	got := decoded[*kmsg.DeleteRecordsResponse](t, req, w.filled(payload)).Topics[0].Partitions[0]
	expect(t, "a replica that has not answered", got.ErrorCode, kerr.RequestTimedOut)
	if got.LowWatermark != -1 {
		t.Errorf("low watermark %d beside an error", got.LowWatermark)
	}
	w.settle() // the late answer finds nobody, and does no harm
	if woken != 1 {
		t.Errorf("woken %d times", woken)
	}
}
