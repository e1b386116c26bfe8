//go:build interop

package interop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// recordVar names the environment variable that has three brokers of Kafka's started and what its tools print against them
// written down. Without it that is what Kafka's tools and ours have to print against three brokers of Troupe's.
const recordVar = "INTEROP_RECORD"

const threeBrokersText = "testdata/three-brokers.txt"

func record(t *testing.T, file string, steps []step) {
	t.Helper()
	var text strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&text, "== %s\n%s", s.title, s.text)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func recordedSteps(t *testing.T, file string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		steps = append(steps, step{title: title, text: strings.TrimSuffix(body, "\n") + "\n"})
	}
	return steps
}

// through goes all the way, and leaves the cluster as it was.
func (w *clusterWalk) through() []step {
	began := time.Now()
	w.run("a topic on all brokers", "", "topics --create --topic spread --replica-assignment 1:2:3,2:3:1,3:1:2")
	w.run("one on two of them", "", "topics --create --topic pair --replica-assignment 1:2,2:3")
	w.run("one on a single broker", "", "topics --create --topic alone --replica-assignment 2")
	w.awaitInSync("spread", "pair", "alone")
	for _, part := range []func(){w.placed, w.described, w.brokerSettings, w.voters, w.brokerDown, w.brokerBack, w.moved, w.movedSlowly} {
		part()
	}
	for _, topic := range []string{"spread", "pair", "alone", "heavy"} {
		w.run("the topic is deleted", "", "topics --delete --topic "+topic)
	}
	w.Logf("%d steps in %v", len(w.steps), time.Since(began).Round(time.Second))
	return w.steps
}

// anyPort leaves out ports in a column of their own.
func anyPort(out string) string {
	return regexp.MustCompile(`(127\.0\.0\.1) \d+`).ReplaceAllString(out, "$1 PORT")
}

// withoutStack leaves out where in Java an error was met.
func withoutStack(out string) string {
	return stackHead.ReplaceAllString(stackTrace.ReplaceAllString(out, ""), "")
}

var stackHead = regexp.MustCompile(`(?m)^java\.util\.concurrent\.ExecutionException: .*\n`)

func (w *clusterWalk) placed() {
	w.run("more replicas than brokers", "", "topics --create --topic many --partitions 1 --replication-factor 4")
	w.run("a broker has one replica", "", "topics --create --topic twice --replica-assignment 1:1")
	w.run("a broker that is not there", "", "topics --create --topic elsewhere --replica-assignment 1:9")
	w.run("replicas of unequal number", "", "topics --create --topic uneven --replica-assignment 1:2,3")
}

// quorumShape leaves the words and the order of a description of the quorum. Who leads comes first.
func quorumShape(out string) string {
	out = regexp.MustCompile(`[ \t]+`).ReplaceAllString(idShape.ReplaceAllString(out, "ID"), " ")
	return regexp.MustCompile(`-?\b\d+\b`).ReplaceAllString(out, "N")
}

var idShape = regexp.MustCompile(`\b[\w-]{22}(?:$|\b)`)

func (w *clusterWalk) described() {
	w.run("replicas and who is in sync", "", "topics --describe --topic spread")
	w.run("all of them", "", "topics --describe --topic spread,pair,alone")
	for p := range int32(3) {
		for _, v := range numbered(fmt.Sprintf("p%d-", p), 3) {
			w.sendTo("spread", p, v)
		}
	}
	w.run("offsets from three leaders", "", "get-offsets --topic spread")
	w.run("the quorum", "", "metadata-quorum describe --status", quorumShape)
	w.run("the copies of the metadata", "", "metadata-quorum describe --replication", quorumShape)
	w.run("the cluster's id", "", "cluster cluster-id", func(out string) string { return idShape.ReplaceAllString(out, "ID") })
	w.run("the brokers' endpoints", "", "cluster list-endpoints", anyPort)
	w.run("log directories of all brokers", "", "log-dirs --describe --topic-list pair", sortedPartitions)
	w.run("log directories of some brokers", "", "log-dirs --describe --topic-list spread --broker-list 3,1", sortedPartitions)
	w.run("nothing lacks replicas", "", "topics --describe --under-replicated-partitions --exclude-internal")
}

func (w *clusterWalk) brokerSettings() {
	const brokers = "configs --entity-type brokers "
	w.run("a setting of all brokers", "", brokers+"--entity-default --alter --add-config log.retention.ms=3600000")
	w.run("a setting of one broker", "", brokers+"--entity-name 2 --alter --add-config log.retention.ms=7200000")
	w.run("all brokers' settings", "", brokers+"--entity-default --describe")
	w.run("one broker's settings", "", brokers+"--entity-name 2 --describe")
	w.run("another broker's settings", "", brokers+"--entity-name 3 --describe")
	w.run("the settings of each broker", "", brokers+"--describe")
	w.run("a setting of the start", "", brokers+"--entity-name 2 --alter --add-config node.id=5")
	w.run("a setting that one broker cannot have alone", "", brokers+"--entity-name 2 --alter --add-config broker.rack=z")
	w.run("a bad value", "", brokers+"--entity-default --alter --add-config log.retention.ms=soon")
	w.run("one broker has none of its own any more", "", brokers+"--entity-name 2 --alter --delete-config log.retention.ms")
	w.run("nobody has", "", brokers+"--entity-default --alter --delete-config log.retention.ms")
	w.run("what is not set is not taken back", "", brokers+"--entity-default --alter --delete-config log.retention.ms")
}

// voters takes a voter away that does not lead, and gives it back, as the tool does that runs on the node itself.
func (w *clusterWalk) voters() {
	status := w.tools.run(w.T, "metadata-quorum", "", "--bootstrap-server", w.address, "describe", "--status").Stdout
	id := int32(2)
	if regexp.MustCompile(`LeaderId:\s+2\n`).MatchString(status) {
		id = 3
	}
	found := regexp.MustCompile(fmt.Sprintf(`"id": %d, "directoryId": "([\w-]{22})", "endpoints": \["(CONTROLLER://[\d.:]+)"\]`, id)).FindStringSubmatch(status)
	if found == nil {
		w.Fatalf("no voter %d in\n%s", id, status)
	}
	which := fmt.Sprintf("--controller-id %d --controller-directory-id ", id)
	w.hide = strings.NewReplacer(found[1], "ID", which, "--controller-id V --controller-directory-id ", fmt.Sprintf("controller %d ", id), "controller V ")
	w.run("a voter of another disk is not taken away", "", "metadata-quorum remove-controller "+which+"AAAAAAAAAAAAAAAAAAAAAA")
	w.run("a voter is taken away", "", "metadata-quorum remove-controller "+which+found[1])
	node.Eventually(w.T, "who was a voter is heard of as an observer", func() bool {
		return strings.Contains(w.tools.run(w.T, "metadata-quorum", "", "--bootstrap-server", w.address, "describe", "--replication").Stdout, "Observer")
	})
	w.run("it only follows", "", "metadata-quorum describe --replication", quorumShape)
	config := w.file("controller.properties", fmt.Sprintf("node.id=%d\nprocess.roles=broker,controller\nlisteners=%s\ncontroller.listener.names=CONTROLLER\nlog.dirs=%s\n",
		id, found[2], w.nodes.logDir(id)))
	w.run("it is a voter again", "", "metadata-quorum --command-config "+config+" add-controller")
	w.run("the quorum is whole", "", "metadata-quorum describe --status", quorumShape)
	w.hide = strings.NewReplacer()
}

func (w *clusterWalk) brokerDown() {
	w.nodes.kill(2)
	w.await("broker 2 leads nothing and is in no ISR with others", func(p kadm.PartitionDetail) bool {
		return p.Leader != 2 && (len(p.Replicas) == 1 || !slices.Contains(p.ISR, 2))
	}, "spread", "pair", "alone")
	for _, topic := range []string{"spread", "pair", "alone"} {
		w.run("a broker is away", "", "topics --describe --topic "+topic)
	}
	for _, which := range []string{"--under-replicated-partitions", "--under-min-isr-partitions", "--at-min-isr-partitions", "--unavailable-partitions"} {
		w.run("what that makes of partitions", "", "topics --describe --exclude-internal "+which)
	}
	w.run("the endpoints that are left", "", "cluster list-endpoints", anyPort)
	w.run("those that are fenced too", "", "cluster list-endpoints --include-fenced-brokers", anyPort)
	w.run("the preferred replica is away", "", "leader-election --election-type preferred --topic spread --partition 1")
	w.run("nobody can lead", "", "leader-election --election-type unclean --topic alone --partition 0")
	w.run("no replica goes to a broker that is away", "", "reassign-partitions --execute --reassignment-json-file "+w.file("away.json",
		`{"version":1,"partitions":[{"topic":"pair","partition":0,"replicas":[3,2]}]}`), withoutStack)
	w.run("a broker is forgotten", "", "cluster unregister --id 2")
	w.run("nobody is forgotten", "", "cluster unregister --id 9")
	w.run("it has no endpoint any more", "", "cluster list-endpoints --include-fenced-brokers", anyPort)
}

func (w *clusterWalk) brokerBack() {
	w.nodes.start(2)
	w.awaitInSync("spread", "pair", "alone")
	w.run("leaders are where they went", "", "topics --describe --topic spread")
	w.run("a leader is moved back", "", "leader-election --election-type preferred --topic spread --partition 1")
	w.run("it leads already", "", "leader-election --election-type preferred --topic spread --partition 1")
	w.run("all others are", "", "leader-election --election-type preferred --all-topic-partitions")
	w.await("all leaders are back", func(p kadm.PartitionDetail) bool { return p.Leader == p.Replicas[0] }, "spread", "pair")
	w.run("leaders are where they were", "", "topics --describe --topic spread,pair,alone")
}

// proposal leaves out which replicas are proposed, for which dice are thrown.
func proposal(out string) string {
	current, proposed, _ := strings.Cut(out, "Proposed")
	return current + "Proposed" + regexp.MustCompile(`"replicas":\[[\d,]+\]`).ReplaceAllString(proposed, `"replicas":[]`)
}

func (w *clusterWalk) moved() {
	topics := w.file("topics.json", `{"version":1,"topics":[{"topic":"pair"}]}`)
	w.run("a plan is made", "", "reassign-partitions --generate --broker-list 1,2,3 --topics-to-move-json-file "+topics, proposal)
	w.run("no plan for what is not there", "", "reassign-partitions --generate --broker-list 1,2,3 --topics-to-move-json-file "+
		w.file("absent.json", `{"version":1,"topics":[{"topic":"absent"}]}`), withoutStack)
	plan := w.file("plan.json", `{"version":1,"partitions":[{"topic":"pair","partition":0,"replicas":[3,1]},{"topic":"pair","partition":1,"replicas":[1,2]}]}`)
	w.run("it is executed", "", "reassign-partitions --execute --reassignment-json-file "+plan)
	w.await("both partitions are moved", func(p kadm.PartitionDetail) bool {
		return slices.Equal(p.Replicas, [][]int32{{3, 1}, {1, 2}}[p.Partition]) && len(p.ISR) == 2
	}, "pair")
	w.run("it is complete", "", "reassign-partitions --verify --reassignment-json-file "+plan)
	w.run("nothing is being moved", "", "reassign-partitions --list")
	w.run("nothing is called off", "", "reassign-partitions --cancel --reassignment-json-file "+plan)
	w.run("the replicas are others", "", "topics --describe --topic pair")
}

// fillHeavily writes more bytes than a throttle lets pass.
func (w *clusterWalk) fillHeavily(topic string) {
	w.Helper()
	dice := rand.NewChaCha8([32]byte{})
	for range 4 {
		r := &kgo.Record{Topic: topic, Value: make([]byte, 900_000)}
		dice.Read(r.Value) // its producer compresses
		if err := w.byNumber.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			w.Fatal(err)
		}
	}
}

// movedSlowly moves more bytes than a throttle lets pass.
func (w *clusterWalk) movedSlowly() {
	w.run("a topic to be moved", "", "topics --create --topic heavy --replica-assignment 1:2")
	w.fillHeavily("heavy")
	plan := w.file("slow.json", `{"version":1,"partitions":[{"topic":"heavy","partition":0,"replicas":[2,3]}]}`)
	other := w.file("other.json", `{"version":1,"partitions":[{"topic":"pair","partition":0,"replicas":[1,3]}]}`)
	w.run("a move is slow", "", "reassign-partitions --execute --throttle 1 --reassignment-json-file "+plan)
	w.run("it is listed", "", "reassign-partitions --list")
	w.run("it goes on", "", "reassign-partitions --verify --preserve-throttles --reassignment-json-file "+plan)
	w.run("replicas come and go", "", "topics --describe --topic heavy")
	w.run("no second one begins unasked", "", "reassign-partitions --execute --reassignment-json-file "+other)
	w.run("a second one begins", "", "reassign-partitions --execute --additional --reassignment-json-file "+other)
	w.await("the second is done", func(p kadm.PartitionDetail) bool { return p.Partition != 0 || slices.Equal(p.Replicas, []int32{1, 3}) }, "pair")
	w.run("the throttle is a setting", "", "configs --describe --entity-type topics --entity-name heavy")
	w.run("the move is called off", "", "reassign-partitions --cancel --reassignment-json-file "+plan)
	w.run("the throttle is gone", "", "configs --describe --entity-type topics --entity-name heavy")
	w.run("the replicas are the old ones", "", "topics --describe --topic heavy")
}

func TestThreeBrokersPrintWhatKafkasDoWithBothTools(t *testing.T) {
	if os.Getenv(recordVar) != "" {
		t.Run("Kafka's tools against Kafka", func(t *testing.T) {
			record(t, threeBrokersText, newClusterWalk(t, startKafkas(t), kafkasTools).through())
		})
	}
	cluster, want := startTroupes(t), recordedSteps(t, threeBrokersText)
	for _, way := range []struct {
		name string
		with tools
	}{{"Kafka's tools", kafkasTools}, {"our tools", ourTools}} {
		t.Run(way.name, func(t *testing.T) { expectSteps(t, newClusterWalk(t, cluster, way.with).through(), want) })
	}
}
