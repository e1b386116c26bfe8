package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/tests/node"
)

// The files are those of three combined Kafka nodes on one machine, as a test bench of Kafka writes them.
func TestFilesOfThreeKafkaNodesMakeACluster(t *testing.T) {
	dir := t.TempDir()
	ports := node.FreePorts(t, 6)
	var voters []string
	for i := range 3 {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%s", i+1, ports[3+i]))
	}
	var nodes []*node.Node
	for i := range 3 {
		file := filepath.Join(dir, fmt.Sprintf("server-%d.properties", i+1))
		text := fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.quorum.voters=%s
listeners=PLAINTEXT://127.0.0.1:%s,CONTROLLER://127.0.0.1:%s
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=%s
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
`, i+1, strings.Join(voters, ","), ports[i], ports[3+i], filepath.Join(dir, fmt.Sprintf("data-%d", i+1)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node.New(t, node.Options{Dir: dir, Config: file}))
	}
	for _, n := range nodes {
		n.Launch()
	}
	for i, n := range nodes {
		n.Bootstrap = "127.0.0.1:" + ports[i]
		node.Eventually(t, fmt.Sprintf("node %d knows three brokers", i+1), func() bool {
			resp, err := n.Metadata()
			return err == nil && len(resp.Brokers) == 3
		})
	}
}
