package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// apart is a cluster whose controllers are no brokers: their node ids are 101 to 103, those of the brokers 1 and 2.
type apart struct {
	t                    *testing.T
	controllers, brokers []*node.Node
}

// startApart starts all of them side by side. quorum makes the settings that name the controllers at some addresses.
func startApart(t *testing.T, quorum func(addresses []string) []string) *apart {
	t.Helper()
	c := &apart{t: t}
	var addresses []string
	for _, port := range node.FreePorts(t, 3) {
		addresses = append(addresses, "127.0.0.1:"+port)
	}
	common := append(quorum(addresses), "controller.listener.names=CONTROLLER", "offsets.topic.replication.factor=2")
	for i, address := range addresses {
		n := node.New(t, node.Options{Set: append([]string{"process.roles=controller", fmt.Sprintf("node.id=%d", 101+i), "listeners=CONTROLLER://" + address}, common...)})
		n.ID, n.Bootstrap = int32(101+i), address
		c.controllers = append(c.controllers, n)
	}
	for id := int32(1); id <= 2; id++ {
		n := node.New(t, node.Options{Set: append([]string{"process.roles=broker", fmt.Sprintf("node.id=%d", id)}, common...)})
		n.ID = id
		c.brokers = append(c.brokers, n)
	}
	all := append(slices.Clone(c.controllers), c.brokers...)
	for _, n := range all {
		n.Launch()
	}
	for _, n := range all {
		if err := n.AwaitReady(); err != nil {
			t.Fatalf("node %d: %v", n.ID, err)
		}
	}
	return c
}

// active is the controller that leads, as a broker tells.
func (c *apart) active() *node.Node {
	c.t.Helper()
	var leads *node.Node
	node.Eventually(c.t, "a controller that runs leads the quorum", func() bool {
		q, err := c.brokers[0].Quorum()
		if err != nil || q.ErrorCode != 0 {
			return false
		}
		at := slices.IndexFunc(c.controllers, func(n *node.Node) bool { return n.ID == q.LeaderID && n.Running() })
		if at >= 0 {
			leads = c.controllers[at]
		}
		return at >= 0
	})
	return leads
}

// roundTrip creates a topic with two replicas, writes to it and reads that back.
func (c *apart) roundTrip(topic string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), node.Patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers[0].Bootstrap, c.brokers[1].Bootstrap), kgo.ConsumeTopics(topic), kgo.DefaultProduceTopic(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	// A controller that leads no more may have done what the next one is asked for again.
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 3, 2, nil, topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		c.t.Fatalf("create %s: %v", topic, err)
	}
	if err := client.ProduceSync(ctx, kgo.StringRecord("a"), kgo.StringRecord("b"), kgo.StringRecord("c")).FirstErr(); err != nil {
		c.t.Fatalf("write to %s: %v", topic, err)
	}
	for read := 0; read < 3; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			c.t.Fatalf("read of %s: %v", topic, err)
		}
		read += fetches.NumRecords()
	}
}

// listed are the node ids that DescribeCluster tells where it is asked, for an endpoint type.
func listed(t *testing.T, address string, kind int8) (ids []int32, code int16) {
	t.Helper()
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType = kind
	resp, err := wire.Try[*kmsg.DescribeClusterResponse](address, wire.Versioned(req, 1), node.Patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range resp.Brokers {
		ids = append(ids, b.NodeID)
	}
	slices.Sort(ids)
	return ids, resp.ErrorCode
}

var activeControllers = regexp.MustCompile(`(?m)^kafka_controller_kafkacontroller_activecontrollercount 1$`)

func TestControllersThatAreNoBrokersServeThoseThatAre(t *testing.T) {
	for title, quorum := range map[string]func([]string) []string{
		"a quorum that every node is told": func(at []string) []string {
			return []string{fmt.Sprintf("controller.quorum.voters=101@%s,102@%s,103@%s", at[0], at[1], at[2])}
		},
		"a quorum whose voters may change": func(at []string) []string {
			return []string{"controller.quorum.bootstrap.servers=" + strings.Join(at, ","), "controller.quorum.initial.voters=3"}
		},
	} {
		t.Run(title, func(t *testing.T) {
			c := startApart(t, quorum)
			c.roundTrip("before")
			c.describe()

			killed := c.active()
			killed.Kill()
			c.roundTrip("after")
			killed.Restart()
			node.Eventually(t, "three voters follow and two observers", func() bool {
				q, err := c.active().Quorum() // on a controller's listener
				return err == nil && q.ErrorCode == 0 && len(q.CurrentVoters) == 3 && len(q.Observers) == 2 &&
					!slices.ContainsFunc(q.CurrentVoters, func(r kmsg.DescribeQuorumResponseTopicPartitionReplicaState) bool {
						return r.LogEndOffset < q.HighWatermark
					})
			})

			stopped := c.active()
			stopped.Signal(syscall.SIGTERM)
			stopped.AwaitExit()
			if !strings.Contains(stopped.Output(), "msg=stopped") {
				t.Errorf("the active controller did not stop in order:\n%s", stopped.Output())
			}
			c.roundTrip("last")
		})
	}
}

// describe checks what clients are told of both kinds of node.
func (c *apart) describe() {
	c.t.Helper()
	controller, broker := c.controllers[0], c.brokers[0]
	node.Eventually(c.t, "a controller tells of all controllers, and of no broker", func() bool {
		ids, code := listed(c.t, controller.Bootstrap, 2)
		return code == 0 && slices.Equal(ids, []int32{101, 102, 103})
	})
	node.Eventually(c.t, "a broker tells of all brokers, and of no controller", func() bool {
		ids, code := listed(c.t, broker.Bootstrap, 1)
		return code == 0 && slices.Equal(ids, []int32{1, 2})
	})
	if _, code := listed(c.t, controller.Bootstrap, 1); code != kerr.MismatchedEndpointType.Code {
		c.t.Errorf("a controller that is asked for brokers answers with code %d", code)
	}
	active := 0
	for _, n := range c.controllers {
		if status, text := page(c.t, n, "/readyz"); status != http.StatusOK {
			c.t.Errorf("controller %d is not ready: %s", n.ID, text)
		}
		_, metrics := page(c.t, n, "/metrics")
		if activeControllers.MatchString(metrics) {
			active++
		}
		if strings.Contains(metrics, "brokerstate") || strings.Contains(metrics, "partitioncount{") {
			c.t.Errorf("controller %d has the metrics of a broker", n.ID)
		}
	}
	if active != 1 {
		c.t.Errorf("%d controllers say that they are active", active)
	}
}
