package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/model"
)

// racks makes a world with a rack-aware leader, broker 1 in rack a, and followers 2 in b, 3 and 4 in c, whose topic "orders"
// has the offsets 0 to 3, all committed.
func racks(t *testing.T, isr ...model.BrokerID) *world {
	w := newWorld(t)
	w.node.Config.Replication.Selector, w.node.Config.Rack = configs.RackAwareSelector, "a"
	for id, rack := range map[model.BrokerID]string{2: "b", 3: "c", 4: "c"} {
		w.apply(&record.RegisterBroker{
			BrokerID: id, IncarnationID: model.UUID{byte(id)}, Rack: &rack,
			Endpoints: []record.Endpoint{{Name: "PLAINTEXT", Host: "host", Port: 9092}},
		})
	}
	id := w.topic("orders", 1)
	for _, value := range []string{"a", "b", "c"} {
		w.append("orders", value)
	}
	all := []model.BrokerID{1, 2, 3, 4}
	w.apply(&record.PartitionChange{TopicID: id, Replicas: all, ISR: isr})
	h := w.node.Replicas.Get(model.TopicPartition{Topic: "orders"})
	w.shard.Send(&replica.Order{Handle: h, Message: &replica.BecomeLeader{LeaderEpoch: 3, PartitionEpoch: 1, ISR: isr, Replicas: all}})
	w.settle()
	return w
}

// kafka-replica-verification asks every replica, with no leader epoch, and compares what it gets.
func TestAFollowerGivesItsLogToAToolThatComparesReplicas(t *testing.T) {
	w := racks(t, 1, 2)
	h := w.node.Replicas.Get(model.TopicPartition{Topic: "orders"})
	w.shard.Send(&replica.Order{Handle: h, Message: &replica.BecomeFollower{
		Leader: 2, LeaderEpoch: 4, PartitionEpoch: 2, ISR: []model.BrokerID{2}, Replicas: []model.BrokerID{1, 2},
	}})
	w.settle()
	for reader, want := range map[int32]kerr.Code{-2: kerr.None, -1: kerr.NotLeaderOrFollower} {
		req := fetching("orders")
		req.ReplicaID = reader
		p := ask[*kmsg.FetchResponse](w, req, 11).Topics[0].Partitions[0]
		expect(t, fmt.Sprintf("a fetch of replica id %d", reader), p.ErrorCode, want)
		if given := len(p.RecordBatches) > 0; given != (want == kerr.None) {
			t.Errorf("replica id %d is given %d bytes", reader, len(p.RecordBatches))
		}
	}
}

// copies has a follower fetch: its log goes from start to end.
func (w *world) copies(id model.BrokerID, start, end model.Offset) {
	h := w.node.Replicas.Get(model.TopicPartition{Topic: "orders"})
	h.Send(&replica.FollowerFetch{Replica: id, Epoch: -1, LeaderEpoch: 3, Offset: end, LogStart: start})
	w.settle()
}

// sentTo tells where a consumer is sent that fetches from an offset.
func (w *world) sentTo(rack string, offset int64) int32 {
	w.t.Helper()
	req := fetching("orders")
	req.Rack, req.Topics[0].Partitions[0].FetchOffset = rack, offset
	p := ask[*kmsg.FetchResponse](w, req, 11).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		w.t.Errorf("rack %q, offset %d: error %d", rack, offset, p.ErrorCode)
	}
	return p.PreferredReadReplica
}

// KIP-392: a consumer that tells its rack is sent to a replica there that is in sync, and to no other.
func TestAConsumerIsSentToAReplicaInItsRack(t *testing.T) {
	w := racks(t, 1, 2)
	w.copies(2, 0, 3)
	w.copies(3, 0, 3)
	for rack, want := range map[string]int32{"a": -1, "b": 2, "c": -1, "d": -1, "": -1} { // nobody in c is in sync
		if got := w.sentTo(rack, 0); got != want {
			t.Errorf("rack %q: sent to %d, want %d", rack, got, want)
		}
	}
}

func TestOfSeveralReplicasInARackTheOneThatIsFurthestIsTaken(t *testing.T) {
	for title, c := range map[string]struct {
		fetches func(w *world)
		offset  int64
		want    int32
	}{
		"whose log is longest": {func(w *world) { w.copies(3, 0, 3); w.copies(4, 0, 2) }, 0, 3},
		"of equal ones the one that had all last": {func(w *world) {
			w.copies(4, 0, 3)
			w.clock.Advance(time.Millisecond)
			w.copies(3, 0, 3)
		}, 0, 3},
		"of those the higher id":              {func(w *world) { w.copies(4, 0, 3); w.copies(3, 0, 3) }, 0, 4},
		"that has the offset yet":             {func(w *world) { w.copies(3, 0, 3); w.copies(4, 0, 1) }, 2, 3},
		"that has the offset still":           {func(w *world) { w.copies(3, 2, 3); w.copies(4, 0, 2) }, 1, 4},
		"none where nobody has it":            {func(w *world) { w.copies(3, 2, 3); w.copies(4, 2, 3) }, 1, -1},
		"none before anybody there fetched":   {func(*world) {}, 0, -1},
		"the leader's consumers stay with it": {func(w *world) { w.copies(2, 0, 3) }, 0, -1},
	} {
		t.Run(title, func(t *testing.T) {
			w := racks(t, 1, 2, 3, 4)
			c.fetches(w)
			if got := w.sentTo("c", c.offset); got != c.want {
				t.Errorf("sent to %d, want %d", got, c.want)
			}
		})
	}
}
