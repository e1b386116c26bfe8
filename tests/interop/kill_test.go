//go:build interop

package interop

import (
	"path/filepath"
	"strings"
	"testing"

	"troupe/tests/chaos"
	"troupe/tests/kafka"
	"troupe/tests/node"
)

func TestKafkaFindsTheLogsSoundAfterKills(t *testing.T) {
	broker := node.Start(t, node.Options{})
	load := chaos.Start(t, broker.Bootstrap, 3, map[string]string{"segment.bytes": "1048576", "index.interval.bytes": "1024"})
	for range 5 {
		load.Await(5000)
		broker.Kill()
		broker.Restart()
	}
	load.Await(1000)
	load.Stop()
	load.Verify()
	broker.Terminate()
	for ending, flags := range map[string][]string{
		".log": {"--deep-iteration"}, ".index": {"--index-sanity-check"}, ".timeindex": {"--index-sanity-check"}, ".snapshot": nil,
	} {
		dump := kafka.Tool(t, "dump-log", "", append([]string{"--files", files(t, filepath.Join(broker.Dir, "load-*-[0-3]"), ending)}, flags...)...)
		if dump.Code != 0 {
			t.Errorf("%s: %.4000s", ending, dump)
		}
		for _, line := range strings.Split(firstBatches.ReplaceAllString(dump.Stdout+dump.Stderr, ""), "\n") {
			for _, word := range complaints {
				if strings.Contains(line, word) {
					t.Errorf("%s: %s", ending, line)
				}
			}
		}
	}
}
