//go:build interop

package interop

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// The settings of both brokers: groups form at once, and members that die are missed in seconds.
var walkSettings = append([]string{"group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000", "offsets.topic.num.partitions=5"}, calm...)

// member are the properties of consumers that are going to be killed.
const member = " --command-property session.timeout.ms=5000 --command-property heartbeat.interval.ms=1000"

// What people do first with Kafka, by a tutorial: with Kafka's tools and with ours, against Kafka and against Troupe. What
// Kafka's tools print against Kafka is what all others have to print.
func TestTheWalkThroughPrintsTheSameWithBothToolsAgainstBothBrokers(t *testing.T) {
	if os.Getenv(node.BootstrapVar) != "" {
		t.Skip("the walk-through needs brokers of its own: it lists all topics and groups")
	}
	var want []step
	if !t.Run("Kafka's tools against Kafka", func(t *testing.T) {
		want = newWalk(t, kafkaBroker(t, walkSettings...), kafkasTools).through()
	}) {
		return
	}
	for _, way := range []struct {
		name     string
		broker   func(*testing.T, ...string) string
		replicas int
		tools    tools
	}{
		{"Kafka's tools against Troupe", broker, 1, kafkasTools},
		{"our tools against Troupe", broker, 1, ourTools},
		{"our tools against Kafka", kafkaBroker, 1, ourTools},
		{"Kafka's tools against three brokers", threeBrokers(3), 3, kafkasTools},
		{"our tools against three brokers", threeBrokers(3), 3, ourTools},
		{"our tools with two replicas", threeBrokers(2), 2, ourTools},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel() // our tools mostly wait; Java's machines take the processor
			w := newWalk(t, way.broker(t, walkSettings...), way.tools)
			w.replicas = way.replicas
			got := w.through()
			for i := range got {
				got[i].text = asOfOne(got[i].text)
			}
			expectSteps(t, got, want)
		})
	}
}

// through goes all the way.
func (w *walk) through() []step {
	began := time.Now()
	for _, part := range []func(){
		w.topics, w.consoles, w.groupOfOne, w.shared, w.uncommitted, w.everyGroupGetsAll, w.autoCommit, w.deletedWhileRead, w.measured,
	} {
		part()
	}
	w.Logf("%d steps in %v", len(w.steps), time.Since(began).Round(time.Second))
	return w.steps
}

func (w *walk) topics() {
	factor := fmt.Sprintf("--replication-factor %d", w.replicas)
	w.hide = strings.NewReplacer(factor, "--replication-factor 1")
	w.run("a topic is created", "", "topics --create --topic walk --partitions 1 "+factor)
	w.run("it is listed", "", "topics --list")
	w.run("it is described", "", "topics --describe --topic walk")
	w.run("it gets more partitions", "", "topics --alter --topic walk --partitions 5")
	w.run("it has them", "", "topics --describe --topic walk")
	w.run("nothing is elected", "", "leader-election --election-type preferred --all-topic-partitions")
	w.run("a preferred replica leads already", "", "leader-election --election-type preferred --topic walk --partition 4")
	w.run("nothing is in it at the end", "", "get-offsets --topic walk --time -1")
}

// The keys decide the partitions, by the hash that all clients share.
func (w *walk) consoles() {
	var lines strings.Builder
	for _, v := range numbered("v", 10) {
		lines.WriteString("key-" + v + ":" + v + "\n")
	}
	// Within the script's default of 1.5 s a busy machine may not answer, and the script tells nobody what it gave up.
	w.run("lines are sent", lines.String(), "console-producer --topic walk --request-timeout-ms 60000 --reader-property parse.key=true --reader-property key.separator=:")
	all := w.run("the latest offsets", "", "get-offsets --topic walk --time -1")
	w.run("the earliest offsets", "", "get-offsets --topic walk --time -2")
	w.run("the latest offset of one partition", "", "get-offsets --topic-partitions walk:1 --time -1")
	if w.tools.ours {
		// Kafka 4 has the old name no longer; tutorials still do.
		if old := troupe(w.T, "", "get-offsets", "--broker-list", w.address, "--topic", "walk", "--time", "-1"); old != all {
			w.Errorf("with --broker-list: %v", old)
		}
	}
	w.run("all is read from the beginning", "", "console-consumer --topic walk --from-beginning --max-messages 10", sorted)
	w.run("one record is read", "", "console-consumer --topic walk --from-beginning --max-messages 1", withoutFigures)

	w.run("a fresh topic is created by the first send", "first\n", "console-producer --topic fresh --request-timeout-ms 60000")
	w.run("it is there", "", "topics --describe --topic fresh")
	w.run("it holds what was sent", "", "console-consumer --topic fresh --from-beginning --max-messages 1")

	w.run("a topic for those who wait", "", "topics --create --topic late --partitions 2")
	waiting := w.start("console-consumer --topic late --offset latest --partition 1 --max-messages 1")
	// Nothing tells when it waits: records come until it has seen one. Those of the other partition it never sees.
	node.Eventually(w.T, "the consumer at the end sees what comes", func() bool {
		w.sendTo("late", 0, "elsewhere")
		w.sendTo("late", 1, "late")
		return !waiting.running()
	})
	w.keep("what comes from now on is read", waiting.wait())
}

// A tutorial writes -group with one dash.
func (w *walk) groupOfOne() {
	one := w.run("a group reads one record", "", "console-consumer --topic walk -group mygroup1 --from-beginning --max-messages 1", withoutFigures)
	rest := w.run("it goes on behind it", "", "console-consumer --topic walk -group mygroup1 --from-beginning --max-messages 9",
		func(string) string { return "" })
	w.keep("together they are all", kafka.Result{Stdout: sorted(one.Stdout + rest.Stdout)})
	w.run("a group without members is described", "", "consumer-groups --describe --group mygroup1", byPartition)
}

// Two share the partitions, and when one is killed a third takes over what it had.
func (w *walk) shared() {
	const consume = "console-consumer --topic walk --group shared" + member
	first, second := w.start(consume), w.start(consume)
	w.awaitMembers("shared", 2)
	w.awaitCommitted("shared", "walk")
	w.send("walk", numbered("a", 30)...)
	w.expect(numbered("a", 30), first, second)
	w.awaitCommitted("shared", "walk") // they commit every 5 s
	w.run("a group with members is described", "", "consumer-groups --describe --group shared", byPartition)
	w.run("its members are", "", "consumer-groups --describe --group shared --members", anyMember)
	w.run("its state is", "", "consumer-groups --describe --group shared --state")
	w.run("it is not deleted", "", "consumer-groups --delete --group shared")

	third := w.start(consume)
	w.awaitMembers("shared", 3)
	first.end(os.Kill)
	seen := len(second.lines())
	w.awaitMembers("shared", 2)
	w.send("walk", numbered("b", 30)...)
	w.expect(append(second.lines()[:seen:seen], numbered("b", 30)...), second, third)

	interrupted, terminated := second.end(os.Interrupt), third.end(syscall.SIGTERM)
	interrupted.Stdout, terminated.Stdout = "", ""
	w.keep("one is interrupted", kafka.Result{Code: interrupted.Code})
	w.keep("one is terminated", kafka.Result{Code: terminated.Code})
	// Both committed and left: the group is empty at once, and lags behind nothing.
	w.awaitEmpty("shared")
	w.run("the group that they left is described", "", "consumer-groups --describe --group shared", byPartition)
	w.run("groups are listed", "", "consumer-groups --list", named, sorted)
	w.run("it is deleted", "", "consumer-groups --delete --group shared")
	w.run("it is gone", "", "consumer-groups --list", named, sorted)
}

// expect waits until consumers have printed all of some lines between them, and each of them some.
func (w *walk) expect(want []string, consumers ...*process) {
	w.Helper()
	var got []string
	node.Eventually(w.T, "the consumers have printed all records", func() bool {
		got = nil
		for _, c := range consumers {
			got = append(got, c.lines()...)
		}
		return len(got) >= len(want)
	})
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Errorf("consumers of one group print %v, want %v", got, want)
	}
	for i, c := range consumers {
		if len(c.lines()) == 0 {
			w.Errorf("consumer %d of %d prints nothing", i+1, len(consumers))
		}
	}
}

// anyMember sorts members, whose ids are random.
func anyMember(out string) string { return sorted(memberIDs.ReplaceAllString(out, "MEMBER")) }

// Where a member has committed nothing, neither offset nor lag is known.
func (w *walk) uncommitted() {
	c := w.start("console-consumer --topic fresh --group uncommitted --from-beginning --command-property enable.auto.commit=false" + member)
	c.await(1)
	w.run("what is unknown is a dash", "", "consumer-groups --describe --group uncommitted")
	w.keep("the consumer is interrupted", c.end(os.Interrupt))
}

func (w *walk) everyGroupGetsAll() {
	w.run("a topic for two groups", "", "topics --create --topic both --partitions 3")
	w.send("both", numbered("c", 20)...)
	one := w.start("console-consumer --topic both --group one --from-beginning --max-messages 20")
	two := w.start("console-consumer --topic both --group two --from-beginning --max-messages 20")
	w.keep("the first group gets everything", one.wait(), sorted)
	w.keep("the second group gets everything", two.wait(), sorted)
}

// A consumer is killed some time after it read; its successor goes on from the commit.
func (w *walk) autoCommit() {
	w.run("a topic for a consumer that is killed", "", "topics --create --topic auto --partitions 1")
	w.send("auto", numbered("d", 10)...)
	c := w.start("console-consumer --topic auto --group auto --from-beginning" + member)
	c.await(10)
	w.awaitCommitted("auto", "auto")
	c.end(os.Kill)
	w.send("auto", numbered("e", 5)...)
	w.run("its successor goes on from the commit", "", "console-consumer --topic auto --group auto --max-messages 5"+member)
}

// A topic goes while it is read. The consumer waits for it to come again, until it is interrupted.
func (w *walk) deletedWhileRead() {
	w.run("a topic that is going to be deleted", "", "topics --create --topic doomed --partitions 1")
	w.send("doomed", numbered("f", 3)...)
	c := w.start("console-consumer --topic doomed --from-beginning --command-property allow.auto.create.topics=false")
	c.await(3)
	w.run("it is deleted while it is read", "", "topics --delete --topic doomed")
	w.run("it is not listed", "", "topics --list")
	if !c.running() {
		w.Errorf("the consumer has ended: %v", c.wait())
	}
	w.keep("the consumer is interrupted", c.end(os.Interrupt))
}

func (w *walk) measured() {
	w.run("a topic to measure with", "", "topics --create --topic perf --partitions 1")
	w.run("producing is measured", "", "producer-perf-test --topic perf --num-records 20000 --record-size 100 --throughput -1", perfShape)
	w.run("consuming is measured", "", "consumer-perf-test --topic perf --num-records 20000 --timeout 60000", withoutFigures)
}
