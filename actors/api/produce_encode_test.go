package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// produced is an answered Produce of three topics: one with a good and a refused partition, one without partitions, and
// one that another broker leads.
func produced(w *world, version int16) *produceOp {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = version, acksLeader
	for i, name := range []string{"orders", "nothing", "elsewhere"} {
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.TopicID = name, model.TopicID{byte(i + 1)}
		for _, p := range [][]int32{{0, 3}, nil, {1, 2}}[i] {
			topic.Partitions = append(topic.Partitions, kmsg.ProduceRequestTopicPartition{Partition: p})
		}
		req.Topics = append(req.Topics, topic)
	}
	moved := replica.AppendResult{Code: kerr.NotLeaderOrFollower, BaseOffset: -1, LogAppendTime: -1, LogStart: -1}
	return &produceOp{
		node: w.node, body: req, request: NewRequest(Arrival{Version: version, Body: req, Client: w.client}),
		parts: []producePart{
			{topic: 0, partition: 0, result: replica.AppendResult{BaseOffset: 40, LogAppendTime: 1234, LogStart: 7}},
			{topic: 0, partition: 1, result: replica.AppendResult{Code: kerr.InvalidRecord, Message: "no key", BaseOffset: -1, LogAppendTime: -1, LogStart: 7},
				refused: []batch.RecordError{{Index: 2, Reason: "a key is missing"}}},
			{topic: 2, partition: 0, result: moved},
			{topic: 2, partition: 1, result: moved},
		},
	}
}

func TestAProduceReplyTellsEachPartitionWhatItsVersionHasAPlaceFor(t *testing.T) {
	w := newWorld(t)
	w.broker(2, false)
	id := model.TopicID{3}
	w.apply(&record.Topic{Name: "elsewhere", ID: id})
	for p := range int32(3) {
		w.apply(&record.Partition{PartitionID: p, TopicID: id, Leader: 2, LeaderEpoch: 6, Replicas: []model.BrokerID{2}, ISR: []model.BrokerID{2}})
	}
	for version := produce.Min; version <= produce.Max; version++ {
		resp := decoded[*kmsg.ProduceResponse](t, &kmsg.ProduceRequest{Version: version}, produced(w, version).AppendTo(nil))
		if len(resp.Topics) != 2 || len(resp.Topics[0].Partitions) != 2 || len(resp.Topics[1].Partitions) != 2 {
			t.Fatalf("v%d: answered %+v, want two partitions of each topic that has any", version, resp.Topics)
		}
		if named := resp.Topics[0].Topic == "orders"; named != (version < 13) {
			t.Errorf("v%d: the topic is named %q", version, resp.Topics[0].Topic)
		}
		if byID := resp.Topics[1].TopicID == id; byID != (version >= 13) {
			t.Errorf("v%d: the topic's id is %x", version, resp.Topics[1].TopicID)
		}
		good, bad := resp.Topics[0].Partitions[0], resp.Topics[0].Partitions[1]
		start := int64(-1)
		if version >= 5 {
			start = 7
		}
		if good.Partition != 0 || good.ErrorCode != 0 || good.BaseOffset != 40 || good.LogAppendTime != 1234 || good.LogStartOffset != start {
			t.Errorf("v%d: the good partition is told as %+v", version, good)
		}
		expect(t, "the refused partition", bad.ErrorCode, kerr.InvalidRecord)
		if bad.Partition != 3 || bad.BaseOffset != -1 {
			t.Errorf("v%d: the refused partition is told as %+v", version, bad)
		}
		explained := bad.ErrorMessage != nil && *bad.ErrorMessage == "no key" && len(bad.ErrorRecords) == 1 &&
			bad.ErrorRecords[0].RelativeOffset == 2 && *bad.ErrorRecords[0].ErrorMessage == "a key is missing"
		if explained != (version >= 8) {
			t.Errorf("v%d: message %v, records %+v", version, bad.ErrorMessage, bad.ErrorRecords)
		}
		expectHint(t, version, resp)
	}
}

// expectHint checks KIP-951: who leads instead, and where that broker is, once.
func expectHint(t *testing.T, version int16, resp *kmsg.ProduceResponse) {
	t.Helper()
	moved := resp.Topics[1].Partitions[1]
	expect(t, "the partition that moved", moved.ErrorCode, kerr.NotLeaderOrFollower)
	if version < 10 {
		if len(resp.Brokers) != 0 || moved.CurrentLeader.LeaderID != -1 {
			t.Errorf("v%d: hints at %+v, %+v", version, moved.CurrentLeader, resp.Brokers)
		}
		return
	}
	if moved.CurrentLeader.LeaderID != 2 || moved.CurrentLeader.LeaderEpoch != 6 {
		t.Errorf("v%d: the leader is hinted as %+v, want 2 at epoch 6", version, moved.CurrentLeader)
	}
	if len(resp.Brokers) != 1 || resp.Brokers[0].NodeID != 2 || resp.Brokers[0].Host != "host-2" || resp.Brokers[0].Port != 9094 {
		t.Errorf("v%d: the leader is at %+v, want host-2:9094 once", version, resp.Brokers)
	}
}
