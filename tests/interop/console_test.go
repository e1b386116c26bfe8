//go:build interop

package interop

import (
	"fmt"
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
