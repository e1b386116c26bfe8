//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// brokers are three of them, each a voter too, of which the second may be killed and started again.
type brokers interface {
	address(id int32) string
	logDir(id int32) string
	kill(id int32)
	start(id int32)
}

// threeSettings are those of both clusters: what is written outlives one broker, and leaders stay where they were put.
var threeSettings = []string{
	"default.replication.factor=3", "min.insync.replicas=2", "offsets.topic.replication.factor=3", "offsets.topic.num.partitions=5",
	"auto.leader.rebalance.enable=false", "controller.quorum.auto.join.enable=false", "group.initial.rebalance.delay.ms=0",
	"group.min.session.timeout.ms=1000", "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",
}

// calm has a busy machine be no reason for an election or to fence a broker: who leads goes on leading. A broker that is killed is
// fenced all the same, for its links.
var calm = []string{"controller.quorum.election.timeout.ms=2000", "broker.session.timeout.ms=60000"}

func rack(id int32) string { return string(rune('a' + id - 1)) }

// troupes are brokers of this module.
type troupes struct{ *node.Cluster }

// startTroupes starts them, with what each is told besides.
func startTroupes(t *testing.T, each ...func(id int32) string) troupes {
	t.Helper()
	return troupes{node.StartCluster(t, node.ClusterOptions{
		// A voter that is to be taken away must not come to lead, either.
		Dynamic: true, Set: slices.Concat(quickGroups, threeSettings, calm),
		Each: func(id int32) []string { return append([]string{"broker.rack=" + rack(id)}, besides(id, each)...) },
	})}
}

// besides are settings of one broker.
func besides(id int32, each []func(int32) string) (settings []string) {
	for _, of := range each {
		settings = append(settings, of(id))
	}
	return settings
}

func (c troupes) address(id int32) string { return c.Node(id).Bootstrap }
func (c troupes) logDir(id int32) string  { return c.Node(id).Dir }
func (c troupes) kill(id int32)           { c.Kill(id) }
func (c troupes) start(id int32)          { c.Start(id) }

// threeBrokers are a cluster in which topics get so many replicas unless they say otherwise.
func threeBrokers(replicas int) func(*testing.T, ...string) string {
	return func(t *testing.T, settings ...string) string {
		t.Helper()
		return node.StartCluster(t, node.ClusterOptions{
			Set: append([]string{fmt.Sprintf("default.replication.factor=%d", replicas)}, settings...),
		}).Node(1).Bootstrap
	}
}

var (
	replicated  = regexp.MustCompile(`Leader: (\d)\tReplicas: ([\d,]+)\tIsr: ([\d,]+)`)
	coordinator = regexp.MustCompile(`(127\.0\.0\.1:PORT +)\(\d\)`)
	howMany     = strings.NewReplacer("ReplicationFactor: 3", "ReplicationFactor: 1", "ReplicationFactor: 2", "ReplicationFactor: 1",
		"min.insync.replicas=2", "min.insync.replicas=1")
)

// asOfOne makes what is printed of partitions whose replicas are all in sync, and whose first replica leads, what is printed
// of those of a broker alone. Where brokers put replicas is for dice.
func asOfOne(text string) string {
	text = replicated.ReplaceAllStringFunc(howMany.Replace(text), func(line string) string {
		parts := replicated.FindStringSubmatch(line)
		replicas, isr := strings.Split(parts[2], ","), strings.Split(parts[3], ",")
		slices.Sort(isr)
		if first := replicas[0]; parts[1] != first || !slices.Equal(isr, slices.Sorted(slices.Values(replicas))) {
			return line
		}
		return "Leader: 1\tReplicas: 1\tIsr: 1"
	})
	return coordinator.ReplaceAllString(text, "$1(1)")
}

// kafkas are brokers of Kafka's. They are started where its texts are written down (recordVar), not in each run: three of
// them are as much as a small machine takes.
type kafkas struct {
	t         *testing.T
	dir       string
	ports     [3]string
	processes [3]*process
}

func startKafkas(t *testing.T, each ...func(id int32) string) *kafkas {
	t.Helper()
	k := &kafkas{t: t, dir: t.TempDir()}
	free := node.FreePorts(t, 6)
	copy(k.ports[:], free)
	var voters, quorum []string
	for i, port := range free[3:] {
		quorum = append(quorum, "127.0.0.1:"+port)
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%s:AAAAAAAAAAAAAAAAAAAA%dQ", i+1, port, i+1))
	}
	for id := int32(1); id <= 3; id++ {
		settings := append([]string{
			"process.roles=broker,controller", fmt.Sprintf("node.id=%d", id), "broker.rack=" + rack(id),
			"listeners=PLAINTEXT://" + k.address(id) + ",CONTROLLER://" + quorum[id-1], "controller.listener.names=CONTROLLER",
			"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "log.dirs=" + k.logDir(id),
			"controller.quorum.bootstrap.servers=" + strings.Join(quorum, ","),
		}, append(threeSettings, besides(id, each)...)...)
		if err := os.WriteFile(k.properties(id), []byte(strings.Join(settings, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		format := kafka.Tool(t, "storage", "", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", k.properties(id), "-I", strings.Join(voters, ","))
		if format.Code != 0 {
			t.Fatal(format)
		}
		k.start(id)
	}
	return k
}

func (k *kafkas) address(id int32) string { return "127.0.0.1:" + k.ports[id-1] }
func (k *kafkas) logDir(id int32) string  { return filepath.Join(k.dir, fmt.Sprintf("data-%d", id)) }
func (k *kafkas) properties(id int32) string {
	return filepath.Join(k.dir, fmt.Sprintf("%d.properties", id))
}
func (k *kafkas) kill(id int32) { k.processes[id-1].end(os.Kill) }
func (k *kafkas) start(id int32) {
	k.processes[id-1] = start(k.t, kafka.ToolLine(k.t, "server", k.properties(id))...)
}

// clusterWalk is the way through what several brokers add.
type clusterWalk struct {
	*walk
	nodes brokers
}

func newClusterWalk(t *testing.T, b brokers, with tools) *clusterWalk {
	t.Helper()
	w := &clusterWalk{newWalk(t, b.address(1), with), b}
	w.neutral = strings.NewReplacer(w.dir, "DIR", b.logDir(1), "LOG", b.logDir(2), "LOG", b.logDir(3), "LOG")
	node.Eventually(t, "three brokers serve", func() bool {
		found, err := w.admin.ListBrokers(t.Context())
		return err == nil && len(found) == 3
	})
	return w
}

// file makes a file of the walk's.
func (w *clusterWalk) file(name, text string) string {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

// await waits until all partitions of some topics are as they should be, by what the broker says that the tools ask.
func (w *clusterWalk) await(title string, holds func(kadm.PartitionDetail) bool, topics ...string) {
	w.Helper()
	node.Eventually(w.T, title, func() bool {
		found, err := w.admin.ListTopics(w.Context(), topics...)
		if err != nil || len(found) != len(topics) {
			return false
		}
		all := true
		found.EachPartition(func(p kadm.PartitionDetail) { all = all && holds(p) })
		return all
	})
}

// awaitInSync waits until each replica is in sync.
func (w *clusterWalk) awaitInSync(topics ...string) {
	w.Helper()
	w.await("all replicas are in sync", func(p kadm.PartitionDetail) bool { return len(p.ISR) == len(p.Replicas) && p.Leader > 0 }, topics...)
}
