//go:build interop

package interop

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// groupCommand is one call of a tool about groups: Kafka's must print what it prints against Kafka, and ours the same. In
// arguments and texts, {topic} is read by {active}, a group with one member, and has offsets of {idle}, which has none.
type groupCommand struct {
	title string
	tool  string
	args  string // separated by spaces
	code  int
	want  string // a pattern for all of standard output; empty when comparing is enough
	// own is a call that changes something: each tool works on groups of its own.
	own bool
}

const offsetsHeader = `GROUP +TOPIC +PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG +CONSUMER-ID +HOST +CLIENT-ID\n`

var groupCommands = []groupCommand{
	{title: "groups are listed with states", tool: "consumer-groups", args: "--list --state", want: `GROUP +STATE +\n(?:{active} +Stable +\n|{idle} +Empty +\n){2}`},
	{title: "groups are listed with types", tool: "consumer-groups", args: "--list --type classic --state empty", want: `GROUP +TYPE +STATE +\n{idle} +Classic +Empty +\n`},
	{title: "an unknown state", tool: "consumer-groups", args: "--list --type share", code: 1},
	{title: "a group that has no members", tool: "consumer-groups", args: "--describe --group {idle}",
		want: `\n` + offsetsHeader + `{idle} +{topic} +0 +1 +3 +2 +- +- +-\n{idle} +{topic} +1 +0 +0 +0 +- +- +-\n`},
	{title: "a group with a member", tool: "consumer-groups", args: "--describe --group {active} --verbose"},
	{title: "a group that is not there", tool: "consumer-groups", args: "--describe --group {idle}-absent",
		want: `\nError: Executing consumer group command failed due to org\.apache\.kafka\.common\.errors\.GroupIdNotFoundException: Group {idle}-absent not found\.\n`},
	{title: "members", tool: "consumer-groups", args: "--describe --group {active} --members --verbose",
		want: `\nGROUP .*\n{active} +\S+ +/127\.0\.0\.1 +kgo +2 +- +{topic}:0,1 +- +- +\n`},
	{title: "no members", tool: "consumer-groups", args: "--describe --group {idle} --members"},
	{title: "states", tool: "consumer-groups", args: "--describe --group {active} --group {idle} --state",
		want: `\nGROUP .*\n{active} +127\.0\.0\.1:\d+  \(1\) +range +Stable +1\n\nGROUP .*\n{idle} +127\.0\.0\.1:\d+  \(1\) +- +Empty +0\n`},
	{title: "states with epochs", tool: "consumer-groups", args: "--describe --group {active} --state --verbose"},

	{title: "a reset to the beginning is planned", tool: "consumer-groups", args: "--reset-offsets --dry-run --group {idle} --topic {topic} --to-earliest"},
	{title: "a reset to the end is executed", tool: "consumer-groups", args: "--reset-offsets --execute --group {idle} --all-topics --to-latest", own: true,
		want: `\nGROUP .*\n(?:{idle} +{topic} +(?:0 +3|1 +0)\n){2}`},
	{title: "a reset makes a group", tool: "consumer-groups", args: "--reset-offsets --execute --group {idle}-new --topic {topic}:0 --to-offset 2", own: true},
	{title: "a reset to the offsets as they are", tool: "consumer-groups", args: "--reset-offsets --dry-run --group {idle} --topic {topic} --to-current"},
	{title: "a reset by a number of records", tool: "consumer-groups", args: "--reset-offsets --dry-run --group {idle} --topic {topic}:0 --shift-by 1"},
	{title: "a reset to a time", tool: "consumer-groups", args: "--reset-offsets --dry-run --group {idle} --topic {topic}:0 --to-datetime 1970-01-01T00:00:02.000"},
	{title: "a reset to a time after all records", tool: "consumer-groups", args: "--reset-offsets --dry-run --group {idle} --topic {topic} --by-duration P1D"},
	{title: "a reset as a file", tool: "consumer-groups", args: "--reset-offsets --dry-run --group {idle} --topic {topic} --to-earliest --export"},
	{title: "a reset of a group in use", tool: "consumer-groups", args: "--reset-offsets --execute --group {active} --topic {topic} --to-earliest",
		want: `\nError: Assignments can only be reset if the group '{active}' is inactive, but the current state is Stable\.\n\nGROUP .*\n`},
	{title: "a reset of a partition that is not there", tool: "consumer-groups", args: "--reset-offsets --execute --group {idle} --topic {topic}:7 --to-latest"},
	{title: "a reset to nothing", tool: "consumer-groups", args: "--reset-offsets --dry-run --group {idle} --to-latest", code: 1},

	{title: "offsets are deleted", tool: "consumer-groups", args: "--delete-offsets --group {idle} --topic {topic}:1", own: true},
	{title: "offsets in use are not deleted", tool: "consumer-groups", args: "--delete-offsets --group {active} --topic {topic}"},
	{title: "a group in use is not deleted", tool: "consumer-groups", args: "--delete --group {active}"},
	{title: "a group is deleted", tool: "consumer-groups", args: "--delete --group {idle}", own: true, want: `Deletion of requested consumer groups \('{idle}'\) was successful\.\n`},

	{title: "groups of all types", tool: "groups", args: "--list --consumer"},
	{title: "share groups", tool: "groups", args: "--list --share", want: `GROUP +TYPE +PROTOCOL +\n`},
	{title: "a member of a group reads", tool: "console-consumer", args: "--topic {topic} -group {idle} --max-messages 2", own: true, want: `two\nnull\n`},
}

func TestToolsOfGroupsPrintWhatTheyPrintAgainstKafkaAndOursDoToo(t *testing.T) {
	for _, own := range []bool{false, true} {
		// What changes something has a broker of its own: the other calls list all groups.
		address := broker(t, "group.initial.rebalance.delay.ms=0")
		shared := makeGroups(t, address)
		for _, c := range groupCommands {
			if c.own != own {
				continue
			}
			t.Run(c.tool+": "+c.title, func(t *testing.T) {
				theirs, ours := shared, shared
				if c.own {
					theirs, ours = makeGroups(t, address), makeGroups(t, address)
				}
				want := c.print(address, theirs, func(args ...string) kafka.Result { return kafka.Tool(t, c.tool, "", args...) })
				pattern := strings.NewReplacer("{topic}", "TOPIC", "{active}", "ACTIVE", "{idle}", "IDLE").Replace(c.want)
				if want.Code != c.code || c.want != "" && !regexp.MustCompile(`\A(?:`+pattern+`)\z`).MatchString(want.Stdout) {
					t.Errorf("Kafka's tool ends with %d and does not print %q: %v", want.Code, pattern, want)
				}
				got := c.print(address, ours, func(args ...string) kafka.Result {
					return troupe(t, "", append([]string{c.tool}, args...)...)
				})
				if got.Code != want.Code || got.Stdout != want.Stdout {
					t.Errorf("ours: %v\nKafka's: %v", got, want)
				}
			})
		}
	}
}

// padding is between columns; how much there is depends on names whose lengths differ from call to call.
var padding = regexp.MustCompile(` {2,}`)

// print calls the tool and gives what it printed, under names that are the same for both tools. The order of hash tables,
// which depends on names, does not count.
func (c groupCommand) print(address string, names [3]string, run func(...string) kafka.Result) kafka.Result {
	fill := strings.NewReplacer("{topic}", names[0], "{active}", names[1], "{idle}", names[2])
	r := run(append([]string{"--bootstrap-server", address}, strings.Fields(fill.Replace(c.args))...)...)
	r.Stdout = strings.NewReplacer(names[0], "TOPIC", names[1], "ACTIVE", names[2], "IDLE").Replace(r.Stdout)
	r.Stdout = padding.ReplaceAllString(r.Stdout, "  ")
	// A header and the empty line before it stay first.
	lines := strings.SplitAfter(r.Stdout, "\n")
	if c.own && len(lines) > 2 && lines[0] == "\n" {
		slices.Sort(lines[2:])
		r.Stdout = strings.Join(lines, "")
	}
	return r
}

// makeGroups makes a topic of two partitions with three old records in the first, a group whose only member reads both,
// and one that has read one record and is gone.
func makeGroups(t *testing.T, address string) [3]string {
	t.Helper()
	topic := probe(t, address)
	active, idle := freshName("active"), freshName("idle")
	admin := kadm.NewClient(client(t, address))
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, 1, -1)
	offsets.AddOffset(topic, 1, 0, -1)
	if err := admin.CommitAllOffsets(t.Context(), idle, offsets); err != nil {
		t.Fatal(err)
	}
	member := client(t, address, kgo.ConsumerGroup(active), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.RangeBalancer()),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// A machine that is busy with Java's tools may keep a member silent for long.
		kgo.SessionTimeout(10*time.Minute), kgo.RebalanceTimeout(10*time.Minute))
	if fetches := member.PollFetches(t.Context()); fetches.NumRecords() == 0 {
		t.Fatalf("the member reads nothing: %v", fetches.Err())
	}
	if err := member.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	node.Eventually(t, "the group is stable", func() bool {
		groups, err := admin.DescribeGroups(t.Context(), active)
		return err == nil && groups[active].State == "Stable"
	})
	return [3]string{topic, active, idle}
}
