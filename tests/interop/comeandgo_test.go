//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	segmentio "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// fewest is how many lines a member has to read before its part of a group counts as seen.
const fewest = 20

// enough is how many lines there are where some may be read twice, of which a share may be.
const enough = 200

// cast is who is in a group: member by member, which library it uses.
type cast struct {
	title   string // without commas: log.dirs is a list, and the directory is named after the test
	members []library
	// dropped is how many lines nobody may have read. kcat throws the record away that it has in hand when it is told to
	// end, though its offset counts as read.
	dropped int
	// repeats tells of a client that goes on for a moment in a generation that has ended, so that it reads few lines twice
	// (kafka-go does so against Kafka as well).
	repeats bool
	// writes is the library that writes the lines; nil is franz-go.
	writes writer
}

// alone is a group of three members of one library.
func alone(title string, l library) cast { return cast{title: title, members: []library{l, l, l}} }

func dropping(lines int, c cast) cast {
	c.dropped = lines
	return c
}

func repeating(c cast) cast {
	c.repeats = true
	return c
}

const assignors = "partition.assignment.strategy=org.apache.kafka.clients.consumer."

var classicCasts = []cast{
	alone("java range", javaMembers(assignors+"RangeAssignor")),
	alone("java round-robin", javaMembers(assignors+"RoundRobinAssignor")),
	alone("java sticky", javaMembers(assignors+"StickyAssignor")),
	alone("java cooperative-sticky", javaMembers(assignors+"CooperativeStickyAssignor")),
	dropping(3, alone("kcat range", kcatMember())),
	dropping(3, alone("kcat cooperative-sticky", kcatMember("partition.assignment.strategy=cooperative-sticky"))),
	alone("franz-go cooperative-sticky", franzMember()),
	alone("franz-go sticky", franzMember(kgo.Balancers(kgo.StickyBalancer()))),
	alone("sarama round-robin", saramaMember(sarama.NewBalanceStrategyRoundRobin())),
	repeating(alone("kafka-go range", segmentioMember(segmentio.RangeGroupBalancer{}))),
	dropping(1, cast{title: "java and kcat and franz-go and sarama with range", members: []library{
		javaMembers(assignors + "RangeAssignor"), kcatMember("partition.assignment.strategy=range"), franzMember(kgo.Balancers(kgo.RangeBalancer())),
		saramaMember(sarama.NewBalanceStrategyRange()),
	}}),
	// Neither Java nor librdkafka read the subscription that kafka-go writes: it has company of others.
	repeating(cast{title: "franz-go and sarama and kafka-go with range", members: []library{
		franzMember(kgo.Balancers(kgo.RangeBalancer())), saramaMember(sarama.NewBalanceStrategyRange()), segmentioMember(segmentio.RangeGroupBalancer{}),
	}}),
	dropping(1, cast{title: "java and kcat and franz-go with cooperative-sticky", members: []library{
		javaMembers(assignors + "CooperativeStickyAssignor"), kcatMember("partition.assignment.strategy=cooperative-sticky"), franzMember(),
	}}),
}

// both are Java consumers of the two protocols, in one process.
var both java

const consumerProtocol = "group.protocol=consumer"

var consumerCasts = []cast{
	alone("java uniform", javaMembers(consumerProtocol)),
	alone("java range", javaMembers(consumerProtocol, "group.remote.assignor=range")),
	alone("franz-go uniform", franzMember(kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))),
	alone("franz-go range", franzMember(kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))),
	{title: "java and franz-go", members: []library{javaMembers(consumerProtocol), franzMember(kgo.ServerSideBalancer()), javaMembers(consumerProtocol)}},
	// The group goes over to the consumer protocol when the second member comes.
	{title: "from classic to consumer", members: []library{both.members(assignors + "CooperativeStickyAssignor"), both.members(consumerProtocol), franzMember(kgo.ServerSideBalancer())}},
	// The group goes back when the first two have left.
	repeating(dropping(1, cast{title: "from consumer to classic", members: []library{
		franzMember(kgo.ServerSideBalancer()), javaMembers(consumerProtocol), kcatMember("partition.assignment.strategy=cooperative-sticky"), franzMember(),
	}})),
}

func TestMembersOfClassicGroupsComeAndGo(t *testing.T) { comeAndGo(t, classicCasts) }

func TestMembersOfConsumerGroupsComeAndGo(t *testing.T) { comeAndGo(t, consumerCasts) }

// comeAndGo has members join one after the other while lines are written, each as soon as the one before reads, and leave in
// the same order; the last reads the rest. Everybody commits before giving a partition up, so each line is read once.
func comeAndGo(t *testing.T, casts []cast) {
	for _, c := range casts {
		t.Run(c.title, func(t *testing.T) {
			address := broker(t, append(quickGroups, "group.initial.rebalance.delay.ms=0")...)
			c.play(t, address, createTopic(t, address, "come", 2*int32(len(c.members))), func() {})
		})
	}
}

// play is one performance. Meanwhile is called each time that a member has come or gone.
func (c cast) play(t *testing.T, address, topic string, meanwhile func()) {
	t.Helper()
	if c.writes == nil {
		c.writes = franzWriter
	}
	group, admin, read := freshName("group"), kadm.NewClient(client(t, address)), newReadings()
	write := c.writes(t, address, topic)
	var leave []func()
	for i, l := range c.members {
		name := fmt.Sprintf("member-%d", i)
		leave = append(leave, sync.OnceFunc(l(t, address, group, topic, name, read)))
		t.Cleanup(leave[i]) // before the clients it may use are closed
		node.Eventually(t, name+" reads", func() bool { return read.of(name) >= fewest })
		meanwhile()
	}
	last := fmt.Sprintf("member-%d", len(leave)-1)
	for i, one := range leave[:len(leave)-1] {
		awaitStable(t, admin, group)
		one()
		before := read.of(last)
		node.Eventually(t, fmt.Sprintf("%s reads after member-%d has left", last, i), func() bool { return read.of(last) >= before+fewest })
		meanwhile()
	}
	if c.repeats { // a slow machine writes few lines while as many members come and go, and as many are read again
		node.Eventually(t, fmt.Sprintf("%d lines are read", enough), func() bool { return read.lines() >= enough })
	}
	written := write()
	node.Eventually(t, "everything is committed", func() bool { return committedAll(t, admin, group, topic) })
	leave[len(leave)-1]()
	read.expectOnce(t, written, c)
}

// writer writes numbered lines, one a record, until the returned function is called, which gives their number.
type writer func(t *testing.T, address, topic string) (stop func() int)

func franzWriter(t *testing.T, address, topic string) (stop func() int) {
	t.Helper()
	producer := client(t, address, kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(0))
	return paced(t, func(line string) error { return producer.ProduceSync(t.Context(), kgo.StringRecord(line)).FirstErr() })
}

// paced has lines written at the pace of a slow producer.
func paced(t *testing.T, write func(line string) error) (stop func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	var written atomic.Int64
	done := background(func() {
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			<-pace.C
			if err := write(fmt.Sprintf("line-%d", n)); err != nil {
				t.Errorf("line %d is not written: %v", n, err)
			}
			written.Add(1)
		}
	})
	end := func() { cancel(); <-done }
	t.Cleanup(end) // of a test that fails before, too
	return func() int {
		end()
		return int(written.Load())
	}
}

// expectOnce tells of lines that were read several times, or never, beyond what a cast may.
func (r *readings) expectOnce(t *testing.T, written int, c cast) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var never, again []string
	for n := range written {
		line := fmt.Sprintf("line-%d", n)
		switch readers := r.by[line]; len(readers) {
		case 0:
			never = append(never, line)
		case 1:
		default:
			again = append(again, fmt.Sprintf("%s by %q", line, readers))
		}
	}
	few := 0
	if c.repeats {
		few = written / 20
	}
	if len(never) > c.dropped || len(again) > few {
		t.Errorf("of %d lines %d are read never: %v, %d several times: %s", written, len(never), never[:min(len(never), 10)], len(again),
			strings.Join(again[:min(len(again), 10)], "; "))
	}
	t.Logf("%d lines: %v", written, r.counts)
}

// committedAll tells whether a group has committed the end of each partition.
func committedAll(t *testing.T, admin *kadm.Client, group, topic string) bool {
	t.Helper()
	committed, err := admin.FetchOffsets(t.Context(), group)
	if err != nil {
		return false
	}
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	if err != nil || ends.Error() != nil {
		return false
	}
	all := true
	ends.Each(func(end kadm.ListedOffset) {
		at, there := committed.Lookup(topic, end.Partition)
		all = all && (end.Offset == 0 || there && at.At == end.Offset)
	})
	return all
}
