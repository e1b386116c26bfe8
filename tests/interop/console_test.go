//go:build interop

package interop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

func milliseconds(ms int64) time.Time { return time.UnixMilli(ms) }

// Whoever writes and whoever reads, Kafka's console or ours: the lines are the same.
func TestConsoleLinesComeBackWithEachCompression(t *testing.T) {
	address := broker(t)
	consoles := map[string]func(stdin, tool string, args ...string) kafka.Result{
		"kafka": func(stdin, tool string, args ...string) kafka.Result { return kafka.Tool(t, tool, stdin, args...) },
		"troupe": func(stdin, tool string, args ...string) kafka.Result {
			return troupe(t, stdin, append([]string{tool}, args...)...)
		},
	}
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "key-%d\tline %d %s\n", i%7, i, strings.Repeat("xyz", i%10))
	}
	for _, codec := range codecs {
		for writer, write := range consoles {
			t.Run(codec+" from "+writer, func(t *testing.T) {
				topic := createTopic(t, address, "console", 1)
				sent := write(lines.String(), "console-producer", "--bootstrap-server", address, "--topic", topic, "--compression-codec="+codec,
					"--request-timeout-ms", "60000", "--reader-property", "parse.key=true")
				if sent.Code != 0 {
					t.Fatal(sent)
				}
				for reader, read := range consoles {
					got := read("", "console-consumer", "--bootstrap-server", address, "--topic", topic, "--partition", "0", "--offset", "earliest",
						"--max-messages", "1000", "--formatter-property", "print.key=true")
					if got.Stdout != lines.String() || got.Code != 0 {
						t.Errorf("%s reads %d bytes of %d and ends with %d: %s; on standard error\n%s", reader, len(got.Stdout), lines.Len(), got.Code,
							firstDifference(got.Stdout, lines.String()), got.Stderr)
					}
				}
			})
		}
	}
}

// Both read what is in one broker's topic, partition by partition.
func TestFormattersOfCoordinatorsPrintWhatKafkasDo(t *testing.T) {
	address := broker(t, "offsets.topic.num.partitions=3", "group.initial.rebalance.delay.ms=0")
	makeGroups(t, address)
	admin := kadm.NewClient(client(t, address))
	var ends kadm.ListedOffsets
	node.Eventually(t, "all partitions of the groups have leaders", func() (all bool) {
		found, err := admin.ListEndOffsets(t.Context(), "__consumer_offsets")
		ends, all = found, err == nil && found.Error() == nil && len(found["__consumer_offsets"]) == 3
		return all
	})
	for _, class := range []string{"OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "TransactionLogMessageFormatter"} {
		t.Run(class, func(t *testing.T) {
			shown := ""
			ends.Each(func(end kadm.ListedOffset) {
				if end.Offset == 0 {
					return
				}
				args := []string{"--bootstrap-server", address, "--topic", end.Topic, "--partition", fmt.Sprint(end.Partition), "--offset", "earliest",
					"--max-messages", fmt.Sprint(end.Offset), "--formatter", "org.apache.kafka.tools.consumer." + class}
				got := troupe(t, "", append([]string{"console-consumer"}, args...)...)
				want := kafka.Tool(t, "console-consumer", "", args...)
				if got.Stdout != want.Stdout || got.Code != want.Code {
					t.Errorf("partition %d, ours: %v\nKafka's: %v", end.Partition, got, want)
				}
				shown += want.Stdout
			})
			if class != "TransactionLogMessageFormatter" && (strings.Count(shown, `{"key":{"type":`) < 2 || !strings.HasPrefix(shown, `{"key":{"type":`)) {
				t.Errorf("Kafka's formatter shows %q", shown)
			}
		})
	}
}
