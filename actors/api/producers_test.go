package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

func TestProducerIDsAreGivenWithoutATransactionalID(t *testing.T) {
	text := func(s string) *string { return &s }
	cases := []struct {
		title         string
		transactional *string
		id            int64
		epoch         int16
		from          int16 // the first version that can say it
		want          kerr.Code
	}{
		{"a new producer", nil, -1, -1, 0, kerr.None},
		{"a producer that comes back", nil, 5, 5, 3, kerr.None},
		{"an id without an epoch", nil, 5, -1, 3, kerr.InvalidRequest},
		{"an epoch without an id", nil, -1, 5, 3, kerr.InvalidRequest},
		{"an empty transactional id", text(""), -1, -1, 0, kerr.InvalidRequest},
		{"a transactional id, of which nobody keeps track here", text("t"), -1, -1, 0, kerr.UnsupportedVersion},
	}
	w := newWorld(t)
	for _, c := range cases {
		for version := c.from; version <= initProducerID.Max; version++ {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch = c.transactional, c.id, c.epoch
			next := int64(w.nextID)
			resp := ask[*kmsg.InitProducerIDResponse](w, req, version)
			expect(t, c.title, resp.ErrorCode, c.want)
			id, epoch := next, int16(0)
			if c.want != kerr.None {
				id, epoch = -1, -1
			}
			if resp.ProducerID != id || resp.ProducerEpoch != epoch {
				t.Errorf("v%d: %s gets %d, %d; want %d, %d", version, c.title, resp.ProducerID, resp.ProducerEpoch, id, epoch)
			}
		}
	}
	w.noIDs = kerr.CoordinatorLoadInProgress
	resp := ask[*kmsg.InitProducerIDResponse](w, kmsg.NewPtrInitProducerIDRequest(), 4)
	expect(t, "while no block of ids is there", resp.ErrorCode, kerr.CoordinatorLoadInProgress)
	if resp.ProducerID != -1 || resp.ProducerEpoch != -1 {
		t.Errorf("beside an error: %d, %d", resp.ProducerID, resp.ProducerEpoch)
	}
}

func TestTransactionsAndShareGroupsHaveNoCoordinator(t *testing.T) {
	w := newWorld(t)
	for version := findCoordinator.Min; version <= findCoordinator.Max; version++ {
		for kind, want := range map[int8]kerr.Code{1: transactionsRefused, 2: transactionsRefused, 9: kerr.InvalidRequest} {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "g", []string{"g", "h"}, kind
			if version == 0 {
				continue // version 0 asks for groups alone
			}
			resp := ask[*kmsg.FindCoordinatorResponse](w, req, version)
			if version < 4 {
				expect(t, "one key", resp.ErrorCode, want)
				if resp.NodeID != -1 || resp.Host != "" || resp.Port != -1 {
					t.Errorf("v%d: found at %d %q %d", version, resp.NodeID, resp.Host, resp.Port)
				}
				continue
			}
			if len(resp.Coordinators) != 2 || resp.ErrorCode != 0 {
				t.Fatalf("v%d: %+v, want an answer a key", version, resp)
			}
			for i, c := range resp.Coordinators {
				expect(t, c.Key, c.ErrorCode, want)
				if c.Key != req.CoordinatorKeys[i] || c.NodeID != -1 || c.Host != "" || c.Port != -1 {
					t.Errorf("v%d: %+v", version, c)
				}
			}
		}
	}
}

func TestTheProducersOfAPartitionAreDescribed(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	v, err := batch.NewBuilder(batch.Options{Producer: &batch.Producer{ID: 7, Epoch: 2, Sequence: 0}}).
		Add(batch.Record{Timestamp: w.clock.Now().UnixMilli(), Value: []byte("a")}).
		Add(batch.Record{Timestamp: w.clock.Now().UnixMilli(), Value: []byte("b")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	produce := kmsg.NewPtrProduceRequest()
	produce.Acks, produce.TimeoutMillis = acksAll, 1000
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: v}}}}
	expect(t, "produce", ask[*kmsg.ProduceResponse](w, produce, 9).Topics[0].Partitions[0].ErrorCode, kerr.None)

	req := kmsg.NewPtrDescribeProducersRequest()
	for _, name := range []string{"orders", "missing", "a/b"} {
		req.Topics = append(req.Topics, kmsg.DescribeProducersRequestTopic{Topic: name, Partitions: []int32{0, 4}})
	}
	resp := ask[*kmsg.DescribeProducersResponse](w, req, 0)
	// Only what is wrong with a topic as a whole has a message (Kafka 4.3.1).
	want := [][2]kerr.Code{{kerr.None, kerr.UnknownTopicOrPartition}, {kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition}, {kerr.InvalidTopicException, kerr.InvalidTopicException}}
	for i, topic := range resp.Topics {
		for j, p := range topic.Partitions {
			expect(t, topic.Topic, p.ErrorCode, want[i][j])
			if explained := p.ErrorMessage != nil; explained != (i > 0) {
				t.Errorf("%s-%d: message %v", topic.Topic, p.Partition, p.ErrorMessage)
			}
		}
	}
	active := resp.Topics[0].Partitions[0].ActiveProducers
	if len(active) != 1 || active[0].ProducerID != 7 || active[0].ProducerEpoch != 2 || active[0].LastSequence != 1 ||
		active[0].LastTimestamp != w.clock.Now().UnixMilli() || active[0].CurrentTxnStartOffset != -1 || active[0].CoordinatorEpoch != -1 {
		t.Errorf("producers %+v", active)
	}
}

func TestLogDirsAreDescribedWithTheirLogs(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 2)
	w.topic("audit", 1)
	w.append("orders", "x")
	bytes := w.node.Replicas.Get(model.TopicPartition{Topic: "orders"}).Size()
	ask := func(version int16, topics []kmsg.DescribeLogDirsRequestTopic) kmsg.DescribeLogDirsResponseDir {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = topics
		resp := ask[*kmsg.DescribeLogDirsResponse](w, req, version)
		if len(resp.Dirs) != 1 || resp.Dirs[0].ErrorCode != 0 || resp.Dirs[0].Dir != "/data" {
			t.Fatalf("v%d: %+v", version, resp)
		}
		return resp.Dirs[0]
	}
	for version := describeLogDirs.Min; version <= describeLogDirs.Max; version++ {
		all := ask(version, nil)
		if len(all.Topics) != 2 || all.Topics[0].Topic != "audit" || len(all.Topics[1].Partitions) != 2 || all.Topics[1].Partitions[0].Size != bytes {
			t.Errorf("v%d: all logs are %+v, want three, with %d bytes in the first of orders", version, all.Topics, bytes)
		}
		// Repeats are told once and what is not here not at all (Kafka 4.3.1).
		some := ask(version, []kmsg.DescribeLogDirsRequestTopic{{Topic: "orders", Partitions: []int32{1, 9, 1}}, {Topic: "missing", Partitions: []int32{0}}, {Topic: "orders", Partitions: []int32{1}}})
		if len(some.Topics) != 1 || len(some.Topics[0].Partitions) != 1 || some.Topics[0].Partitions[0].Partition != 1 {
			t.Errorf("v%d: the logs asked for are %+v, want partition 1 of orders", version, some.Topics)
		}
		if none := ask(version, []kmsg.DescribeLogDirsRequestTopic{}); len(none.Topics) != 0 {
			t.Errorf("v%d: no logs are asked for, and %+v told", version, none.Topics)
		}
		if spaced := all.TotalBytes > 0 && all.UsableBytes > 0; spaced != (version >= 4) {
			t.Errorf("v%d: %d of %d bytes are free", version, all.UsableBytes, all.TotalBytes)
		}
	}
	w.apply(&record.BrokerRegistrationChange{BrokerID: 1, CordonedLogDirs: []model.DirectoryID{{1}}})
	if !ask(5, nil).IsCordoned {
		t.Error("a cordoned directory is not told as one (KIP-1066)")
	}
}

func TestNoReplicaIsMovedToACordonedLogDirectory(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.apply(&record.BrokerRegistrationChange{BrokerID: 1, CordonedLogDirs: []model.DirectoryID{{1}}})
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{Dir: "/data", Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: "orders", Partitions: []int32{0}}}}}
	for version := alterReplicaLogDirs.Min; version <= alterReplicaLogDirs.Max; version++ {
		code := ask[*kmsg.AlterReplicaLogDirsResponse](w, req, version).Topics[0].Partitions[0].ErrorCode
		if kerr.Code(code) != kerr.InvalidReplicaAssignment {
			t.Errorf("v%d: a move to a cordoned directory is answered with %s", version, kerr.Code(code).Name())
		}
	}
}
