package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// watched reads what the admin port of a node says.
func watched(t *testing.T, n *node.Node, path string) string {
	t.Helper()
	_, text := page(t, n, path)
	return text
}

// page is what it says with the status.
func page(t *testing.T, n *node.Node, path string) (status int, text string) {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Get("http://" + n.Admin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// lists tells whether /metrics has a line; it may end in more than is given.
func lists(metrics, line string) bool { return strings.Contains("\n"+metrics, "\n"+line) }

// createAssigned makes a topic whose replicas are named.
func createAssigned(t *testing.T, n *node.Node, topic string, assignment ...[]int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = topic, -1, -1
	for i, replicas := range assignment {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), replicas
		one.ReplicaAssignment = append(one.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, one)
	req.TimeoutMillis = 30_000
	resp, err := wire.Try[*kmsg.CreateTopicsResponse](n.Bootstrap, wire.Versioned(req, 7), 30*time.Second)
	if err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("create %s: %+v, %v", topic, resp, err)
	}
}

func TestInternalTopicsOfOneReplicaAreWarnedOfUntilTheyHaveMore(t *testing.T) {
	c := node.StartCluster(t, node.ClusterOptions{})
	createAssigned(t, c.Node(1), "__consumer_offsets", []int32{1}, []int32{2})
	mend := "troupe rebalance --bootstrap-server " + c.Node(1).Bootstrap + " --execute"
	node.Eventually(t, "the warning names what mends it", func() bool {
		return strings.Contains(watched(t, c.Node(1), "/ready"), mend) && strings.Contains(watched(t, c.Node(1), "/overview"), mend)
	})
	c.Node(3).Terminate()
	c.Node(3).Restart()
	node.Eventually(t, "a node warns when it begins to serve", func() bool {
		return strings.Contains(c.Node(3).Output(), "partitions of __consumer_offsets have one replica in a cluster of 3 brokers")
	})
	c.AwaitServing()
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, strings.Fields(mend)[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", mend, err, out)
	}
	for _, n := range c.Nodes {
		node.Eventually(t, "nothing is left to warn of", func() bool {
			return strings.Contains(watched(t, n, "/ready"), `"warnings":[]`)
		})
	}
}

func TestTheMetricsOfAClusterTellWhoFollowsWhoLagsAndWhoIsGone(t *testing.T) {
	c := node.StartCluster(t, node.ClusterOptions{})
	createAssigned(t, c.Node(1), "orders", []int32{1, 2, 3})
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Node(1).Bootstrap), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: bytes.Repeat([]byte("x"), 1000)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	leading := c.Controller()
	for _, n := range c.Nodes {
		part := "follower"
		if n == leading {
			part = "leader"
		}
		want := []string{
			fmt.Sprintf(`kafka_server_raft_metrics_current_state{state=%q} 1`, part), "kafka_server_raft_metrics_number_of_voters 3",
			fmt.Sprintf("kafka_server_raft_metrics_current_leader %d", leading.ID),
		}
		if n.ID == 1 {
			want = append(want, `kafka_network_requestmetrics_requests_total{request="FetchFollower"`)
		} else {
			want = append(want, `kafka_server_fetcherlagmetrics_consumerlag{clientId="ReplicaFetcherThread-0-1",partition="0",topic="orders"} 0`,
				`kafka_server_replicafetchermanager_maxlag{clientId="Replica"} 0`)
		}
		for _, line := range want {
			node.Eventually(t, fmt.Sprintf("node %d tells %s", n.ID, line), func() bool { return lists(watched(t, n, "/metrics"), line) })
		}
		bytes := "kafka_server_brokertopicmetrics_replicationbytesin_total"
		if n.ID == 1 {
			bytes = "kafka_server_brokertopicmetrics_replicationbytesout_total"
		}
		if none := bytes + " 0\n"; lists(watched(t, n, "/metrics"), none) {
			t.Errorf("node %d has copied nothing", n.ID)
		}
	}
	// Consumers have had nothing: what followers copy is not theirs.
	if !lists(watched(t, c.Node(1), "/metrics"), `kafka_server_brokertopicmetrics_bytesout_total{topic=""} 0`) {
		t.Error("bytes for followers count as bytes for consumers")
	}
	gone := c.Node(2)
	if gone == leading {
		gone = c.Node(3)
	}
	isMissed(t, c, leading, gone)
}

// isMissed has a follower killed and started again, and looks at what is told of that.
func isMissed(t *testing.T, c *node.Cluster, leading, gone *node.Node) {
	t.Helper()
	gone.Kill()
	node.Eventually(t, "the partition is short of a replica", func() bool {
		return lists(watched(t, c.Node(1), "/metrics"), "kafka_server_replicamanager_underreplicatedpartitions 1")
	})
	node.Eventually(t, "the controller counts who is fenced", func() bool {
		m := watched(t, leading, "/metrics")
		return lists(m, "kafka_controller_kafkacontroller_fencedbrokercount 1") && lists(m, "kafka_controller_kafkacontroller_activebrokercount 2")
	})
	var view struct {
		Brokers []struct {
			ID    int32
			State string
		}
		UnderReplicated int
		Partitions      []struct{ Topic, State string }
		Quorum          struct{ Copies []struct{ ID, Lag int64 } }
	}
	node.Eventually(t, "the page shows the same", func() bool {
		if err := json.Unmarshal([]byte(watched(t, c.Node(1), "/cluster")), &view); err != nil {
			t.Fatal(err)
		}
		return view.UnderReplicated == 1 && view.Brokers[gone.ID-1].State == "fenced" && len(view.Quorum.Copies) == 3 &&
			view.Partitions[0].Topic == "orders" && view.Partitions[0].State == "under-replicated"
	})
	gone.Restart()
	node.Eventually(t, "the ISR grows again", func() bool {
		m := watched(t, c.Node(1), "/metrics")
		return lists(m, "kafka_server_replicamanager_underreplicatedpartitions 0") && lists(m, "kafka_server_replicamanager_isrexpands_total 1")
	})
}
