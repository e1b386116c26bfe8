package integration

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// controllerPorts tells where a node says that the nodes of the quorum are reached, by node.id (DescribeQuorum 2).
func controllerPorts(n *node.Node) (map[int32]string, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = append(req.Topics, topic)
	resp, err := wire.Try[*kmsg.DescribeQuorumResponse](n.Bootstrap, wire.Versioned(req, 2), 10*time.Second)
	if err != nil {
		return nil, err
	}
	ports := map[int32]string{}
	for _, d := range resp.Nodes {
		for _, l := range d.Listeners {
			ports[d.NodeID] = fmt.Sprint(l.Port)
		}
	}
	return ports, nil
}

// The leader of the quorum comes back on another port. Of two voters neither can lead until they have found each other.
func TestAVoterThatComesBackOnAnotherPortIsFound(t *testing.T) {
	for _, nodes := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d voters", nodes), func(t *testing.T) {
			c := node.StartCluster(t, node.ClusterOptions{Nodes: nodes, Dynamic: true})
			moved := c.Controller()
			moved.Kill()
			port := node.FreePorts(t, 1)[0]
			moved.Set("listeners=PLAINTEXT://"+moved.Bootstrap+",CONTROLLER://127.0.0.1:"+port, "advertised.listeners=PLAINTEXT://"+moved.Bootstrap+",CONTROLLER://127.0.0.1:"+port)
			moved.Restart()
			c.AwaitServing()
			for _, n := range c.Nodes {
				node.Eventually(t, fmt.Sprintf("node %d knows the new port", n.ID), func() bool {
					ports, err := controllerPorts(n)
					return err == nil && len(ports) == nodes && ports[moved.ID] == port
				})
			}
			node.Eventually(t, "the change is on record", func() bool {
				out := dumped(t, c.Nodes[moved.ID%int32(nodes)])
				return strings.Contains(out, port)
			})
			if nodes < 3 {
				return
			}
			other := c.Nodes[slices.IndexFunc(c.Nodes, func(n *node.Node) bool { return n != moved })]
			other.Kill()
			c.Controller() // of two left, one is the moved one
			createAssigned(t, moved, "after", []int32{moved.ID})
		})
	}
}

// dumped is the metadata log of a node, as the log dumper prints it.
func dumped(t *testing.T, n *node.Node) string {
	t.Helper()
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(n.Dir, "*", "__cluster_metadata-0", "*.log"))
	if err != nil || len(files) == 0 {
		files, err = filepath.Glob(filepath.Join(n.Dir, "__cluster_metadata-0", "*.log"))
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("node %d has no metadata log: %v", n.ID, err)
	}
	out, err := exec.Command(binary, "dump-log", "--cluster-metadata-decoder", "--files", strings.Join(files, ",")).CombinedOutput()
	if err != nil {
		t.Fatalf("dump-log: %v\n%s", err, out)
	}
	return string(out)
}
