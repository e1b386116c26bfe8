package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// Three processes: a record that was acknowledged to acks=all outlives its leader, the next leader takes over, and the one
// that was killed comes back into the ISR.
func TestRecordsOutliveTheirLeader(t *testing.T) {
	c := node.StartCluster(t, node.ClusterOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Nodes[0].Bootstrap, c.Nodes[1].Bootstrap, c.Nodes[2].Bootstrap), kgo.DefaultProduceTopic("orders"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 1, 3, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	partition := func() kadm.PartitionDetail {
		topics, err := admin.ListTopics(ctx, "orders")
		if err != nil {
			t.Fatal(err)
		}
		return topics["orders"].Partitions[0]
	}
	produced := 0
	produce := func(n int) {
		t.Helper()
		for range n {
			if err := client.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint(produced))).FirstErr(); err != nil {
				t.Fatalf("record %d: %v", produced, err)
			}
			produced++
		}
	}
	produce(50)
	first := partition().Leader
	c.Kill(first)
	produce(50)
	if now := partition().Leader; now == first {
		t.Fatalf("node %d leads, and is dead", now)
	}
	c.Start(first)
	node.Eventually(t, "the killed broker is in sync again", func() bool { return len(partition().ISR) == 3 })
	produce(10)

	reader, err := kgo.NewClient(kgo.SeedBrokers(c.Nodes[0].Bootstrap), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var got []string
	for len(got) < produced {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d records: %v", len(got), err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	var want []string
	for i := range produced {
		want = append(want, fmt.Sprint(i))
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %v", got)
	}
}

// Two of three are gone: nothing can be committed, so nobody takes over what the last one leads. It closes its logs all the
// same, and the next start finds them clean.
func TestABrokerWithoutAQuorumStopsInOrder(t *testing.T) {
	c := node.StartCluster(t, node.ClusterOptions{Nodes: 3})
	c.Kill(1, 2)
	c.Node(3).Terminate()
	c.Start()
	c.AwaitServing()
	if said := c.Node(3).Output(); strings.Contains(said, "not in order") {
		t.Errorf("the broker was stopped in order, and its next start says:\n%s", said)
	}
}
