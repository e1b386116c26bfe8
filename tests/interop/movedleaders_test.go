//go:build interop

package interop

import (
	"slices"
	"testing"

	"github.com/IBM/sarama"
	segmentio "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

func writtenBy(w writer, c cast) cast {
	c.writes = w
	return c
}

// Each library writes once and reads once.
var movedCasts = []cast{
	writtenBy(javaWriter, cast{title: "java cooperative-sticky", members: twice(javaMembers(assignors + "CooperativeStickyAssignor"))}),
	writtenBy(kcatWriter, cast{title: "java uniform", members: twice(javaMembers(consumerProtocol, "client.rack=b"))}),
	writtenBy(saramaWriter, dropping(2, cast{title: "kcat cooperative-sticky", members: twice(kcatMember("partition.assignment.strategy=cooperative-sticky"))})),
	// librdkafka before 2.1 names no leader epoch where its rack sends it.
	dropping(2, cast{title: "kcat range", members: twice(kcatMember("client.rack=b"))}),
	cast{title: "sarama round-robin", members: twice(saramaMember(sarama.NewBalanceStrategyRoundRobin()))},
	cast{title: "franz-go uniform", members: twice(franzMember(kgo.ServerSideBalancer(), kgo.Rack("b")))},
	writtenBy(segmentioWriter, repeating(cast{title: "kafka-go range", members: twice(segmentioMember(segmentio.RangeGroupBalancer{}))})),
}

func twice(l library) []library { return []library{l, l} }

// While members come and go the leaders of all partitions move: producers and consumers follow them.
func TestMembersReadOnceWhileLeadersMove(t *testing.T) {
	cluster := startTroupes(t)
	for _, c := range movedCasts {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel() // members mostly wait for each other
			address := cluster.address(1)
			topic := createReplicated(t, address, "moved", 4, 3)
			admin := watcher(t, address)
			c.play(t, address, topic, func() { moveLeaders(t, admin, topic) })
		})
	}
}

// moveLeaders makes the second replica of each partition the preferred one, and has it elected.
func moveLeaders(t *testing.T, admin *kadm.Client, topic string) {
	t.Helper()
	found, err := admin.ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var plan kadm.AlterPartitionAssignmentsReq
	var all kadm.TopicsSet
	next := map[int32]int32{}
	for _, p := range found[topic].Partitions {
		order := slices.Concat(p.Replicas[1:], p.Replicas[:1])
		plan.Assign(topic, p.Partition, order)
		all.Add(topic, p.Partition)
		next[p.Partition] = order[0]
	}
	if done, err := admin.AlterPartitionAssignments(t.Context(), plan); err != nil || done.Error() != nil {
		t.Fatal(err, done.Error())
	}
	node.Eventually(t, "the leaders have moved", func() bool {
		if _, err := admin.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, all); err != nil {
			return false
		}
		found, err := admin.ListTopics(t.Context(), topic)
		return err == nil && !slices.ContainsFunc(found[topic].Partitions.Sorted(), func(p kadm.PartitionDetail) bool { return p.Leader != next[p.Partition] })
	})
}
