package console_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const groupEvents = "kafka_server_group_coordinator_metrics_"

func TestOffsetsAreCountedAsTheyComeAndGo(t *testing.T) {
	n := startNode(t, "group.lag.interval.ms=100", "offsets.retention.check.interval.ms=50")
	n.create("orders", 3)
	n.commit("a", "orders", 1, 2, 3)
	n.commit("a", "orders", 1, 2, 4)
	n.commit("b", "orders", 5)
	n.settled(4)
	var set kadm.TopicsSet
	set.Add("orders", 0, 2)
	if _, err := kadm.NewClient(n.client).DeleteOffsets(n.context(), "a", set); err != nil {
		t.Fatal(err)
	}
	// Up to version 4 a commit may bring the time after which it expires.
	short := kmsg.NewPtrOffsetCommitRequest()
	short.Version, short.Group, short.Generation, short.RetentionTimeMillis = 4, "a", -1, 1
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Partition = 2
	short.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetCommitRequestTopicPartition{part}}}
	resp, err := n.client.Broker(1).Request(n.context(), &pinned{short})
	if err != nil || resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("commit: %v, %+v", err, resp)
	}
	n.eventually("the short commit expires", func() bool { return n.metrics()[groupEvents+"offset_expiration_count"] > 0 })
	m := n.settled(2)
	for series, want := range map[string]float64{
		groupEvents + "offset_commit_count":                                              3 + 3 + 1 + 1,
		groupEvents + "offset_deletion_count":                                            2,
		groupEvents + "offset_expiration_count":                                          1,
		groupEvents + "group_completed_rebalance_count":                                  0,
		`kafka_network_requestmetrics_errors_total{error="NONE",request="OffsetDelete"}`: 3, // of the group, and two partitions
	} {
		if got, there := m[series]; !there || got != want {
			t.Errorf("%s is %v (there: %v), want %v", series, got, there, want)
		}
	}
}

func TestGroupsAreCountedByTypeAndState(t *testing.T) {
	n := startNode(t, "group.lag.interval.ms=100", "group.initial.rebalance.delay.ms=0")
	n.create("orders", 1)
	n.produce("orders", 0, "a")
	join := func(group string, more ...kgo.Opt) *kgo.Client {
		c, err := kgo.NewClient(append(more, kgo.SeedBrokers(n.bootstrap), kgo.ConsumerGroup(group), kgo.ConsumeTopics("orders"),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseAllowingRebalance)
		for c.PollFetches(n.context()).NumRecords() == 0 {
		}
		return c
	}
	classic := join("classic")
	join("consumer", kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	n.commit("offsets", "orders", 1)

	states := func(want map[string]float64) {
		t.Helper()
		n.eventually("groups are counted", func() bool {
			m := n.metrics()
			for series, count := range want {
				if got, there := m[series]; !there || got != count {
					t.Logf("%s is %v (there: %v), want %v", series, got, there, count)
					return false
				}
			}
			return true
		})
	}
	states(map[string]float64{
		groupEvents + `group_count{protocol="classic"}`:                2,
		groupEvents + `group_count{protocol="consumer"}`:               1,
		groupEvents + `consumer_group_count{state="stable"}`:           1,
		`kafka_coordinator_group_groupmetadatamanager_numgroups`:       2,
		`kafka_coordinator_group_groupmetadatamanager_numgroupsstable`: 1,
		`kafka_coordinator_group_groupmetadatamanager_numgroupsempty`:  1,
		groupEvents + "group_completed_rebalance_count":                1,
	})
	if n.metrics()[groupEvents+"consumer_group_rebalance_count"] < 1 {
		t.Error("no rebalance of the consumer protocol is counted")
	}
	classic.CloseAllowingRebalance()
	states(map[string]float64{
		`kafka_coordinator_group_groupmetadatamanager_numgroupsstable`: 0,
		`kafka_coordinator_group_groupmetadatamanager_numgroupsempty`:  2,
		groupEvents + "group_completed_rebalance_count":                1,
		// A member that left is answered with one code, and one of the reply; they are counted when the answer has left.
		`kafka_network_requestmetrics_errors_total{error="NONE",request="LeaveGroup"}`: 2,
	})
}
