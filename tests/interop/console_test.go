//go:build interop

package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/tests/kafka"
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
					"--reader-property", "parse.key=true")
				if sent.Code != 0 {
					t.Fatal(sent)
				}
				for reader, read := range consoles {
					got := read("", "console-consumer", "--bootstrap-server", address, "--topic", topic, "--partition", "0", "--offset", "earliest",
						"--max-messages", "1000", "--formatter-property", "print.key=true")
					if got.Stdout != lines.String() || got.Code != 0 {
						t.Errorf("%s reads %d bytes of %d and ends with %d", reader, len(got.Stdout), lines.Len(), got.Code)
					}
				}
			})
		}
	}
}

// Both read one broker's topic, whose partitions come in any order.
func TestFormattersOfCoordinatorsPrintWhatKafkasDo(t *testing.T) {
	address := broker(t, "offsets.topic.num.partitions=3", "group.initial.rebalance.delay.ms=0")
	makeGroups(t, address)
	for _, class := range []string{"OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "TransactionLogMessageFormatter"} {
		t.Run(class, func(t *testing.T) {
			read := func(run func(args ...string) kafka.Result) []string {
				r := run("--bootstrap-server", address, "--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "8000",
					"--formatter", "org.apache.kafka.tools.consumer."+class)
				records := strings.Split(strings.ReplaceAll(r.Stdout, "}{", "}\n{"), "\n")
				// Kafka's consumer reads in a group of its own, which it thereby adds to.
				records = slices.DeleteFunc(records, func(s string) bool { return strings.Contains(s, `"group":"console-consumer-`) })
				slices.Sort(records)
				return records
			}
			var got []string
			done := background(func() { // both wait for more records until their time is over
				got = read(func(args ...string) kafka.Result {
					return troupe(t, "", append([]string{"console-consumer"}, args...)...)
				})
			})
			want := read(func(args ...string) kafka.Result { return kafka.Tool(t, "console-consumer", "", args...) })
			<-done
			if !slices.Equal(got, want) {
				t.Errorf("ours:\n%s\nKafka's:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if class != "TransactionLogMessageFormatter" && (len(want) < 2 || !strings.HasPrefix(want[0], `{"key":{"type":`)) {
				t.Errorf("Kafka's formatter shows %q", want)
			}
		})
	}
}
