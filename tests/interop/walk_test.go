//go:build interop

package interop

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/bench/peer"
	"troupe/tests/kafka"
	"troupe/tests/node"
	"troupe/tests/wire"
)

// tools are those that the walk-through is gone with.
type tools struct {
	ours bool
	run  func(t testing.TB, tool, stdin string, args ...string) kafka.Result // to its end
	line func(t testing.TB, tool string, args ...string) []string            // what starts it beside the test
}

var kafkasTools = tools{false, kafka.Tool, kafka.ToolLine}

var ourTools = tools{
	true,
	func(t testing.TB, tool, stdin string, args ...string) kafka.Result {
		t.Helper()
		return troupe(t, stdin, append([]string{tool}, args...)...)
	},
	func(t testing.TB, tool string, args ...string) []string {
		t.Helper()
		binary, err := node.Binary()
		if err != nil {
			t.Fatal(err)
		}
		return append([]string{binary, tool}, args...)
	},
}

// walk is one way through: a fresh broker, and the tools. What each step printed is kept for the comparison.
type walk struct {
	*testing.T
	tools           tools
	address         string
	admin           *kadm.Client
	byKey, byNumber *kgo.Client // producers
	replicas        int         // of its topics
	dir             string      // of its files
	// neutral and hide replace what differs from run to run: paths, and what one part made.
	neutral, hide *strings.Replacer
	steps         []step
}

// step is what one step printed, without what differs from run to run.
type step struct {
	title, text string
	aside       string // the rest of standard error, which is not compared
}

func newWalk(t *testing.T, address string, tools tools) *walk {
	t.Helper()
	return &walk{
		T: t, tools: tools, address: address, admin: watcher(t, address),
		replicas: 1, dir: t.TempDir(), neutral: strings.NewReplacer(), hide: strings.NewReplacer(),
		byKey: client(t, address), byNumber: client(t, address, kgo.RecordPartitioner(kgo.ManualPartitioner())),
	}
}

// kafkaBroker starts Apache Kafka itself beside the test.
func kafkaBroker(t *testing.T, settings ...string) string {
	t.Helper()
	jars, err := kafka.Jars()
	if err != nil {
		t.Fatal(err)
	}
	b, err := peer.New(peer.Kafka(jars), t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	return b.Address
}

// call gives a tool and its arguments, with the broker's address.
func (w *walk) call(command string) (tool string, args []string) {
	words := strings.Fields(command)
	to := []string{"--bootstrap-server", w.address}
	if words[0] == "cluster" { // its action comes first
		return words[0], append(words[1:], to...)
	}
	return words[0], append(to, words[1:]...)
}

// run runs a tool to its end and keeps what it printed. More shapes it before it is kept.
func (w *walk) run(title, stdin, command string, more ...func(string) string) kafka.Result {
	w.Helper()
	w.awaitKnown()
	tool, args := w.call(command)
	r := w.tools.run(w.T, tool, stdin, args...)
	w.keep(title+": "+command, r, more...)
	return r
}

// start starts a tool beside the test.
func (w *walk) start(command string) *process {
	w.Helper()
	tool, args := w.call(command)
	return start(w.T, w.tools.line(w.T, tool, args...)...)
}

// told are the lines of standard error that are a tool's own words, and not the log of its client.
var told = regexp.MustCompile(`(?m)^(?:Processed a total of|Consumer group|Error|Warning|Option) .*$`)

// keep adds a step.
func (w *walk) keep(title string, r kafka.Result, more ...func(string) string) {
	w.Helper()
	out := r.Stdout
	for _, shape := range more {
		out = shape(out)
	}
	text := plain(fmt.Sprintf("%s--- %s\n--- exit code %d\n", out, strings.Join(told.FindAllString(r.Stderr, -1), "\n--- "), r.Code))
	w.steps = append(w.steps, step{w.hide.Replace(w.neutral.Replace(title)), w.hide.Replace(w.neutral.Replace(text)), r.Stderr})
}

var (
	topicIDs  = regexp.MustCompile(`TopicId: \S{22}`)
	addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	memberIDs = regexp.MustCompile(`[\w.-]+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// plain replaces what is another one in each run: ids, ports, members by the order they come in.
func plain(text string) string {
	text = topicIDs.ReplaceAllString(text, "TopicId: ID")
	text = addresses.ReplaceAllString(text, "127.0.0.1:PORT")
	known := map[string]string{}
	return memberIDs.ReplaceAllStringFunc(text, func(id string) string {
		if known[id] == "" {
			known[id] = fmt.Sprintf("MEMBER-%d", len(known)+1)
		}
		return known[id]
	})
}

// expectSteps compares what was printed with what has to be.
func expectSteps(t *testing.T, got, want []step) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if got[i].title != want[i].title || got[i].text != want[i].text {
			t.Errorf("%s\nprints\n%s\nand Kafka's tool against Kafka\n%s\nand on standard error\n%s", got[i].title, got[i].text, want[i].text, got[i].aside)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d steps, not %d", len(got), len(want))
	}
}

// sorted puts lines in order, where it is that of partitions read at once. Those of a table follow its header and the
// empty line before it.
func sorted(out string) string {
	lines := strings.SplitAfter(out, "\n")
	first := 0
	if len(lines) > 2 && lines[0] == "\n" {
		first = 2
	}
	slices.Sort(lines[first:])
	return strings.Join(lines, "")
}

// byPartition sorts the rows of a group's description by partition.
func byPartition(out string) string {
	lines := strings.SplitAfter(out, "\n")
	field := func(line string, n int) string {
		fields := strings.Fields(line)
		return fields[min(n, len(fields)-1)]
	}
	if len(lines) > 3 {
		rows := lines[2 : len(lines)-1]
		slices.SortStableFunc(rows, func(a, b string) int { return strings.Compare(field(a, 2), field(b, 2)) })
	}
	return strings.Join(lines, "")
}

// madeUp are groups that Kafka's console makes up for a consumer without one. Ours reads without a group.
var madeUp = regexp.MustCompile(`(?m)^console-consumer-\d+\n`)

// named leaves the groups that have a name of their own.
func named(out string) string { return madeUp.ReplaceAllString(out, "") }

// withoutFigures leaves the words of a measurement.
func withoutFigures(out string) string { return figures.ReplaceAllString(out, "N") }

// send writes records, a key each, as whoever else uses the topic. The keys decide the partitions.
func (w *walk) send(topic string, values ...string) {
	w.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(v), Value: []byte(v)})
	}
	if err := w.byKey.ProduceSync(w.Context(), records...).FirstErr(); err != nil {
		w.Fatal(err)
	}
}

// sendTo writes a record to a partition.
func (w *walk) sendTo(topic string, partition int32, value string) {
	w.Helper()
	r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
	if err := w.byNumber.ProduceSync(w.Context(), r).FirstErr(); err != nil {
		w.Fatal(err)
	}
}

// numbered gives n values that begin alike.
func numbered(prefix string, n int) (values []string) {
	for i := range n {
		values = append(values, fmt.Sprintf("%s%d", prefix, i))
	}
	return values
}

// awaitKnown waits until every broker knows what the quorum has committed so far: a tool asks any of them, and one that is
// not the one that was told to change something hears of it a moment later.
func (w *walk) awaitKnown() {
	w.Helper()
	req := kmsg.NewPtrDescribeQuorumRequest()
	metadata := kmsg.NewDescribeQuorumRequestTopic()
	metadata.Topic, metadata.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = append(req.Topics, metadata)
	committed := int64(-1)
	node.Eventually(w.T, "the quorum tells what is committed", func() bool {
		resp, err := req.RequestWith(w.Context(), w.byKey)
		if err != nil || resp.ErrorCode != 0 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
			return false
		}
		committed = resp.Topics[0].Partitions[0].HighWatermark
		return true
	})
	node.Eventually(w.T, fmt.Sprintf("every broker knows the metadata up to offset %d", committed), func() bool {
		found, err := w.admin.ListBrokers(w.Context())
		return err == nil && !slices.ContainsFunc(found, func(b kadm.BrokerDetail) bool { return knownTo(b) < committed-1 })
	})
}

// knownTo is the offset of the metadata that a broker has come to; it calls that the epoch of the features. -1 is of one that
// does not answer.
func knownTo(b kadm.BrokerDetail) int64 {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "test", "1"
	resp, err := wire.Try[*kmsg.ApiVersionsResponse](net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), wire.Versioned(req, 4), node.Patience)
	if err != nil {
		return -1
	}
	return resp.FinalizedFeaturesEpoch
}

// awaitMembers waits until a group is stable with so many members, each of whom has partitions.
func (w *walk) awaitMembers(group string, n int) {
	w.Helper()
	node.Eventually(w.T, fmt.Sprintf("%s has %d members that share the partitions", group, n), func() bool {
		groups, err := w.admin.DescribeGroups(w.Context(), group)
		if err != nil || groups[group].State != "Stable" || len(groups[group].Members) != n {
			return false
		}
		return !slices.ContainsFunc(groups[group].Members, func(m kadm.DescribedGroupMember) bool {
			assigned, ok := m.Assigned.AsConsumer()
			return !ok || len(assigned.Topics) == 0
		})
	})
}

// awaitCommitted waits until a group has committed the ends of a topic.
func (w *walk) awaitCommitted(group, topic string) {
	w.Helper()
	node.Eventually(w.T, group+" has committed all of "+topic, func() bool {
		lag, err := w.admin.Lag(w.Context(), group)
		found := lag[group]
		if err != nil || found.Error() != nil || len(found.Lag[topic]) == 0 {
			return false
		}
		for _, p := range found.Lag[topic] {
			if p.Lag != 0 || p.Commit.At < 0 {
				return false
			}
		}
		return true
	})
}

// awaitEmpty waits until a group has no members, as after they left; nobody is waited for who did not.
func (w *walk) awaitEmpty(group string) {
	w.Helper()
	node.Eventually(w.T, group+" is empty", func() bool {
		groups, err := w.admin.DescribeGroups(w.Context(), group)
		return err == nil && groups[group].State == "Empty"
	})
}
