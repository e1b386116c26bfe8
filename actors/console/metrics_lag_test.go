package console_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produceAt sends a record with a time, acknowledged before the next.
func (n *node) produceAt(topic string, partition int32, at time.Time) {
	n.t.Helper()
	r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v"), Timestamp: at}
	if err := n.client.ProduceSync(n.context(), r).FirstErr(); err != nil {
		n.t.Fatal(err)
	}
}

// commit commits offsets as a consumer without a membership does.
func (n *node) commit(group, topic string, offsets ...int64) {
	n.t.Helper()
	all := kadm.Offsets{}
	for p, o := range offsets {
		all.AddOffset(topic, int32(p), o, -1)
	}
	admin := kadm.NewClient(n.client)
	n.eventually("the group's coordinator takes a commit", func() bool {
		return admin.CommitAllOffsets(n.context(), group, all) == nil
	})
}

// settled waits until a round has seen so many committed offsets, and gives the metrics.
func (n *node) settled(offsets float64) (m samples) {
	n.t.Helper()
	n.eventually("the commits are seen", func() bool {
		m = n.metrics()
		return m["kafka_coordinator_group_groupmetadatamanager_numoffsets"] == offsets
	})
	return m
}

func TestLagIsToldInRecordsAndInTime(t *testing.T) {
	n := startNode(t, "group.lag.interval.ms=100", "group.lag.partitions=true", "group.lag.series.max=4")
	n.create("orders", 2)
	now := time.Now()
	for i := range 10 { // record i of partition 0 is 1000-100*i seconds old
		n.produceAt("orders", 0, now.Add(time.Duration(100*i-1000)*time.Second))
	}
	n.produceAt("orders", 1, now.Add(-5000*time.Second))
	n.commit("done", "orders", 10, 1)
	n.commit("behind", "orders", 4, 1)
	n.commit("late", "orders", 10, 0)
	n.commit("lost", "orders", 0)

	n.eventually("lags are what was produced and not read", func() bool {
		m := n.settled(7)
		for series, want := range map[string]float64{
			`troupe_consumergroup_lag_max{consumergroup="late"}`:                          1,
			`troupe_consumergroup_lag_max{consumergroup="lost"}`:                          10,
			`troupe_consumergroup_lag_max{consumergroup="behind"}`:                        6,
			`kafka_consumergroup_lag_sum{consumergroup="behind",topic=""}`:                6,
			`kafka_consumergroup_lag{consumergroup="lost",partition="0",topic="orders"}`:  10,
			`troupe_consumergroup_lag_series_omitted{of="groups"}`:                        0,
			`troupe_consumergroup_lag_series_omitted{of="partitions"}`:                    3, // of 7
			`troupe_consumergroup_lag_unknown`:                                            0,
			`kafka_coordinator_group_groupmetadatamanager_numgroups`:                      4,
			`kafka_coordinator_group_groupmetadatamanager_numgroupsempty`:                 4,
			`kafka_server_group_coordinator_metrics_group_count{protocol="classic"}`:      4,
			`kafka_server_group_coordinator_metrics_group_count{protocol="consumer"}`:     0,
			`kafka_server_group_coordinator_metrics_consumer_group_count{state="stable"}`: 0,
			`kafka_server_group_coordinator_metrics_num_partitions{state="active"}`:       50,
		} {
			if got, there := m[series]; !there || got != want {
				t.Logf("%s is %v (there: %v), want %v", series, got, there, want)
				return false
			}
		}
		for series, old := range map[string]float64{
			`troupe_consumergroup_lag_seconds_max{consumergroup="late"}`:                          5000,
			`troupe_consumergroup_lag_seconds_max{consumergroup="lost"}`:                          1000,
			`troupe_consumergroup_lag_seconds_max{consumergroup="behind"}`:                        600,
			`troupe_consumergroup_lag_seconds{consumergroup="late",partition="1",topic="orders"}`: 5000,
		} {
			if got := m[series]; got < old || got > old+time.Since(now).Seconds()+1 {
				t.Errorf("%s is %v, want %v and what the test took", series, got, old)
			}
		}
		return true
	})
	if commits := n.metrics()["kafka_server_group_coordinator_metrics_offset_commit_count"]; commits != 7 {
		t.Errorf("%v commits are counted, want 7", commits)
	}

	n.commit("lost", "orders", 10)
	n.eventually("a group that has read all is not behind", func() bool {
		m := n.metrics()
		age, there := m[`troupe_consumergroup_lag_seconds_max{consumergroup="lost"}`]
		return there && age == 0 && m[`troupe_consumergroup_lag_max{consumergroup="lost"}`] == 0
	})
}
