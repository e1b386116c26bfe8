//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
)

// command is one call of a tool: Kafka's must print what it prints against Kafka, and ours the same. In arguments
// and texts, {topic}, {broker} and {file} stand for what the test made.
type command struct {
	title string
	tool  string
	args  string // separated by spaces
	stdin string
	file  string // what {file} holds
	code  int
	want  string // a pattern for all of standard output; empty when comparing is enough
	// own is a call that changes something: each tool works on a topic of its own.
	own bool
	// shape compares this of an output whose figures differ from run to run.
	shape func(string) string
}

var toolCommands = []command{
	{title: "a topic is created", tool: "topics", args: "--create --topic {topic}-new --partitions 3 --replication-factor 1 --config retention.ms=100000", own: true,
		want: `Created topic {topic}-new\.\n`},
	{title: "a name with a dot is warned of", tool: "topics", args: "--create --topic {topic}.new --partitions 1", own: true,
		want: `WARNING: Due to limitations in metric names, topics with a period \('\.'\) or underscore \('_'\) could collide\. To avoid issues it is best to use either, but not both\.\nCreated topic {topic}\.new\.\n`},
	{title: "a topic that is there is refused", tool: "topics", args: "--create --topic {topic}", code: 1, want: `Error while executing topic command : Topic '{topic}' already exists\.\n`},
	{title: "a topic that is there is let be", tool: "topics", args: "--create --if-not-exists --topic {topic}"},
	{title: "a bad setting is refused", tool: "topics", args: "--create --topic {topic}-bad --config segment.bytes=many", code: 1, own: true},
	{title: "topics are listed", tool: "topics", args: "--list"},
	{title: "one topic is listed", tool: "topics", args: "--list --topic {topic}", want: `{topic}\n`},
	{title: "a topic is described", tool: "topics", args: "--describe --topic {topic}",
		want: `Topic: {topic}\tTopicId: \S{22}\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: .*retention\.ms=-1.*\n` +
			`\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n` +
			`\tTopic: {topic}\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n`},
	{title: "all topics are described", tool: "topics", args: "--describe"},
	{title: "overridden topics are described", tool: "topics", args: "--describe --topics-with-overrides"},
	{title: "an unknown topic is not described", tool: "topics", args: "--describe --topic {topic}-absent", code: 1,
		want: `Error while executing topic command : Topic '{topic}-absent' does not exist as expected\n`},
	{title: "partitions are added", tool: "topics", args: "--alter --topic {topic} --partitions 4", own: true},
	{title: "partitions are not taken away", tool: "topics", args: "--alter --topic {topic} --partitions 1", own: true, code: 1},
	{title: "a topic is deleted", tool: "topics", args: "--delete --topic {topic}", own: true},
	{title: "an unknown topic is not deleted", tool: "topics", args: "--delete --topic {topic}-absent", code: 1},

	{title: "a topic's settings", tool: "configs", args: "--entity-type topics --entity-name {topic} --describe",
		want: `Dynamic configs for topic {topic} are:\n  retention\.ms=-1 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention\.ms=-1\}\n`},
	{title: "all of a topic's settings", tool: "configs", args: "--entity-type topics --entity-name {topic} --describe --all"},
	{title: "all of a broker's settings", tool: "configs", args: "--entity-type brokers --entity-name 1 --describe --all"},
	{title: "a broker's changed settings", tool: "configs", args: "--entity-type brokers --entity-name 1 --describe"},
	{title: "the settings of all brokers", tool: "configs", args: "--entity-type brokers --entity-default --describe"},
	{title: "a topic is set up", tool: "configs", args: "--entity-type topics --entity-name {topic} --alter --add-config max.message.bytes=2000000,cleanup.policy=[compact,delete]", own: true,
		want: `Completed updating config for topic {topic}\.\n`},
	{title: "a setting is taken back", tool: "configs", args: "--entity-type topics --entity-name {topic} --alter --delete-config retention.ms", own: true,
		want: `Completed updating config for topic {topic}\.\n`},
	{title: "a bad value of a setting", tool: "configs", args: "--entity-type topics --entity-name {topic} --alter --add-config retention.ms=soon", own: true, code: 1},
	{title: "a setting of a broker", tool: "configs", args: "--entity-type brokers --entity-name 1 --alter --add-config log.cleaner.threads=2", own: true,
		want: `Completed updating config for broker 1\.\n`},

	{title: "the latest offsets", tool: "get-offsets", args: "--topic {topic}", want: `{topic}:0:3\n{topic}:1:0\n`},
	{title: "the earliest offsets", tool: "get-offsets", args: "--topic {topic} --time -2", want: `{topic}:0:0\n{topic}:1:0\n`},
	{title: "the offsets of the largest timestamps", tool: "get-offsets", args: "--topic {topic} --time -3", want: `{topic}:0:2\n`},
	{title: "the offsets of a time", tool: "get-offsets", args: "--topic {topic} --time 1500", want: `{topic}:0:1\n`},
	{title: "offsets by their words", tool: "get-offsets", args: "--topic-partitions {topic}:0 --time earliest", want: `{topic}:0:0\n`},

	{title: "records are read by partition", tool: "console-consumer", args: "--topic {topic} --partition 0 --offset earliest --max-messages 3", want: "one\ntwo\nnull\n"},
	{title: "records are read with all that is known of them", tool: "console-consumer",
		args: "--topic {topic} --partition 0 --offset 0 --max-messages 3 --formatter-property print.key=true --formatter-property print.offset=true --formatter-property print.partition=true --formatter-property print.timestamp=true --formatter-property print.headers=true",
		want: "CreateTime:1000\tPartition:0\tOffset:0\tNO_HEADERS\tk1\tone\nCreateTime:2000\tPartition:0\tOffset:1\th:v\tnull\ttwo\nCreateTime:3000\tPartition:0\tOffset:2\tNO_HEADERS\tk3\tnull\n"},
	{title: "records are waited for in vain", tool: "console-consumer", args: "--topic {topic} --partition 1 --offset earliest --timeout-ms 2000"},

	{title: "records are deleted", tool: "delete-records", args: "--offset-json-file {file}", own: true,
		file: `{"partitions": [{"topic": "{topic}", "partition": 0, "offset": 2}], "version": 1}`,
		want: `Executing records delete operation\nRecords delete operation completed:\npartition: {topic}-0\tlow_watermark: 2\n`},
	{title: "more records than there are are not deleted", tool: "delete-records", args: "--offset-json-file {file}", own: true,
		file: `{"partitions": [{"topic": "{topic}", "partition": 0, "offset": 99}], "version": 1}`},
	{title: "log directories", tool: "log-dirs", args: "--describe --topic-list {topic}", shape: sortedPartitions},
	{title: "api versions", tool: "broker-api-versions", want: `127\.0\.0\.1:\d+ \(id: 1 rack: null isFenced: false\) -> \(\n(?s:.*)\)\n`},
	{title: "the cluster's id", tool: "cluster", args: "cluster-id", want: `Cluster ID: \S{22}\n`},
	{title: "the cluster's endpoints", tool: "cluster", args: "list-endpoints"},
	{title: "features", tool: "features", args: "describe", want: `(?s:.*)Feature: metadata\.version\s+SupportedMinVersion: \S+\s+SupportedMaxVersion: 4\.3-IV0\s+FinalizedVersionLevel: 4\.3-IV0\s+Epoch: N\n(?s:.*)`, shape: withoutEpochs},

	{title: "a preferred replica leads already", tool: "leader-election", args: "--election-type preferred --topic {topic} --partition 1",
		want: `Valid replica already elected for partitions {topic}-1\n`},
	{title: "nothing is elected", tool: "leader-election", args: "--election-type preferred --all-topic-partitions"},
	{title: "no unclean leader is needed", tool: "leader-election", args: "--election-type unclean --path-to-json-file {file}",
		file: `{"partitions": [{"topic": "{topic}", "partition": 0}, {"topic": "{topic}", "partition": 1}]}`},
	{title: "no leader of an unknown partition", tool: "leader-election", args: "--election-type preferred --topic {topic} --partition 9", code: 1,
		want: `Error completing leader election \(PREFERRED\) for partition: {topic}-9: org\.apache\.kafka\.common\.errors\.UnknownTopicOrPartitionException: .*\n`},

	{title: "numbers are sent and told of", tool: "verifiable-producer", args: "--topic {topic}-fresh --max-messages 3 --repeating-keys 2 --value-prefix 7 --acks 1", own: true, shape: events,
		want: `{"name":"startup_complete"}\n(?:{"name":"producer_send_success".*}\n){3}{"name":"shutdown_complete"}\n{"name":"tool_data","sent":3,"acked":3.*}\n`},
	{title: "a topic of an impossible name", tool: "verifiable-producer", args: "--topic {topic}! --max-messages 1", own: true, shape: events},
	{title: "a member tells what it reads", tool: "verifiable-consumer", args: "--topic {topic} --group-id {topic}-g --max-messages 2 --verbose", own: true, shape: events,
		want: `{"name":"startup_complete"}\n{"name":"partitions_assigned".*\n(?:{"name":"record_data".*\n){2}{"name":"records_consumed","count":3.*\n{"name":"offsets_committed".*"offset":2}],"success":true}\n(?s:.*)`},
	{title: "a member that commits by itself", tool: "verifiable-consumer", args: "--topic {topic} --group-id {topic}-g --max-messages 3 --enable-autocommit", own: true, shape: events},
	{title: "the time from end to end", tool: "e2e-latency", args: "--topic {topic}-fresh --num-records 5 --producer-acks all --record-size 20", own: true, shape: withoutFigures,
		want: `Topic "{topic}-fresh" does not exist\..*\nN\tN\nAvg latency: N ms\nPercentiles: Nth = N, Nth = N, Nth = N\n`},

	{title: "a million records with acks=1", tool: "producer-perf-test", own: true, shape: perfShape,
		args: "--topic {topic} --num-records 1000000 --record-size 100 --throughput -1 --command-property acks=1"},
	{title: "a million records with acks=all", tool: "producer-perf-test", own: true, shape: perfShape,
		args: "--topic {topic} --num-records 1000000 --record-size 100 --throughput -1 --command-property acks=all"},
}

func TestToolsPrintWhatTheyPrintAgainstKafkaAndOursDoToo(t *testing.T) {
	address := broker(t)
	shared := probe(t, address)
	for _, c := range toolCommands {
		t.Run(c.tool+": "+c.title, func(t *testing.T) {
			theirs, ours := shared, shared
			if c.own {
				theirs, ours = probe(t, address), probe(t, address)
			}
			want := c.print(t, address, theirs, func(stdin string, args ...string) kafka.Result {
				return kafka.Tool(t, c.tool, stdin, args...)
			})
			c.judge(t, want)
			got := c.print(t, address, ours, func(stdin string, args ...string) kafka.Result {
				return troupe(t, stdin, append([]string{c.tool}, args...)...)
			})
			if got != want {
				t.Errorf("ours: %v\nKafka's: %v", got, want)
			}
		})
	}
}

// judge checks what Kafka's tool printed against the broker.
func (c command) judge(t *testing.T, r kafka.Result) {
	t.Helper()
	if r.Code != c.code {
		t.Errorf("Kafka's tool ends with %d, want %d: %v", r.Code, c.code, r)
	}
	want := strings.ReplaceAll(c.want, "{topic}", "TOPIC")
	if want != "" && !regexp.MustCompile(`\A(?:`+want+`)\z`).MatchString(r.Stdout) {
		t.Errorf("Kafka's tool does not print %q: %v", want, r)
	}
}

// print calls the tool and gives what it printed, with TOPIC for the topic's name.
func (c command) print(t *testing.T, address, topic string, run func(string, ...string) kafka.Result) kafka.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(c.file, "{topic}", topic)), 0o644); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{topic}", topic, "{broker}", address, "{file}", file)
	args := append([]string{"--bootstrap-server", address}, strings.Fields(fill.Replace(c.args))...)
	if c.tool == "cluster" { // its action comes first
		args = append(strings.Fields(c.args), args[:2]...)
	}
	r := run(c.stdin, args...)
	r.Stdout, r.Stderr = strings.ReplaceAll(r.Stdout, topic, "TOPIC"), strings.ReplaceAll(r.Stderr, topic, "TOPIC")
	r.Stderr = stackTrace.ReplaceAllString(r.Stderr, "")
	if c.shape != nil {
		r.Stdout = c.shape(r.Stdout)
	}
	return r
}

// probe makes a topic of two partitions with three records in the first, old ones that do not age.
func probe(t *testing.T, address string) string {
	t.Helper()
	topic := createTopic(t, address, "probe", 2)
	writer := client(t, address, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i, r := range []*kgo.Record{
		{Key: []byte("k1"), Value: []byte("one")},
		{Value: []byte("two"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}},
		{Key: []byte("k3")},
	} {
		r.Topic, r.Timestamp = topic, milliseconds(1000*int64(i+1))
		if err := writer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return topic
}

// logDir is one directory in the output of log-dirs.
type logDir struct {
	Partitions []map[string]any `json:"partitions"`
	Error      *string          `json:"error"`
	LogDir     string           `json:"logDir"`
}

// sortedPartitions puts the directories and partitions of log-dirs, whose order is that of hash tables, in order.
func sortedPartitions(out string) string {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		var told struct {
			Brokers []struct {
				Broker  int      `json:"broker"`
				LogDirs []logDir `json:"logDirs"`
			} `json:"brokers"`
			Version int `json:"version"`
		}
		if json.Unmarshal([]byte(line), &told) != nil {
			continue
		}
		for _, b := range told.Brokers {
			slices.SortFunc(b.LogDirs, func(a, b logDir) int { return strings.Compare(a.LogDir, b.LogDir) })
			for _, d := range b.LogDirs {
				slices.SortFunc(d.Partitions, func(a, b map[string]any) int {
					return strings.Compare(fmt.Sprint(a["partition"]), fmt.Sprint(b["partition"]))
				})
			}
		}
		if sorted, err := json.Marshal(told); err == nil {
			lines[i] = string(sorted)
		}
	}
	return strings.Join(lines, "\n")
}

var (
	epochs = regexp.MustCompile(`Epoch: \d+`)
	// stackTrace is what Java prints below the message of an error.
	stackTrace = regexp.MustCompile(`(?m)^(\tat .*|\t\.\.\. \d+ more|Caused by: .*|\tSuppressed: .*|org\.apache\.kafka\.tools\.\w+Exception: .*|)\n`)
	figures    = regexp.MustCompile(`\d+(\.\d+)?`)
)

var whenAndHowFast = regexp.MustCompile(`"timestamp":\d+,|"avg_throughput":[\d.E-]+`)

// events leaves out the times of a verifiable tool's events.
func events(out string) string { return whenAndHowFast.ReplaceAllString(out, "") }

// withoutEpochs leaves out the offset of the metadata log, which moves on by itself.
func withoutEpochs(out string) string { return epochs.ReplaceAllString(out, "Epoch: N") }

// perfShape gives the last line of producer-perf-test without its figures, and counts the records.
func perfShape(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	count, _, _ := strings.Cut(last, " ")
	return count + figures.ReplaceAllString(strings.TrimPrefix(last, count), "N") + "\n"
}
