//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// updates is how many records of 1 KiB are written to so many keys: several of the smallest segments.
const updates, updatedKeys = 8000, 100

func TestKafkaReadsACompactedTopic(t *testing.T) {
	n := node.Start(t, node.Options{Set: []string{"log.cleaner.backoff.ms=100"}})
	topic := freshName("table")
	admin := kadm.NewClient(client(t, n.Bootstrap))
	compact, small, ratio := "compact", "1048576", "0.01"
	settings := map[string]*string{"cleanup.policy": &compact, "segment.bytes": &small, "min.cleanable.dirty.ratio": &ratio}
	if resp, err := admin.CreateTopic(t.Context(), 1, 1, settings, topic); err != nil || resp.Err != nil {
		t.Fatal(err, resp.Err)
	}
	want := map[string]string{}
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		writer := client(t, n.Bootstrap, kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(16<<10))
		for j := range updates {
			r := &kgo.Record{Key: fmt.Appendf(nil, "key-%d", j%updatedKeys), Value: fmt.Appendf(nil, "%d-%d-%01024d", i, j, j)}
			want[string(r.Key)] = string(r.Value)
			if j%7 == 0 {
				r.Value = nil
				want[string(r.Key)] = "null"
			}
			writer.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := writer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	partition := filepath.Join(n.Dir, topic+"-0")
	node.Eventually(t, "the topic is compacted", func() bool {
		found, err := filepath.Glob(filepath.Join(partition, "*.log"))
		var size int64
		for _, f := range found {
			if info, err := os.Stat(f); err == nil {
				size += info.Size()
			}
		}
		return err == nil && size < 3<<20
	})
	got := readByJava(t, n.Bootstrap, topic, fmt.Sprintf("key-%d", (updates-1)%updatedKeys), want)
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %.20q, want %.20q", key, got[key], value)
		}
	}
	n.Terminate()
	for _, ending := range []string{".log", ".index", ".timeindex"} {
		dump := kafka.Tool(t, "dump-log", "", "--files", files(t, partition, ending), "--deep-iteration")
		if strings.Contains(dump.Stdout, "isvalid: false") || dump.Code != 0 ||
			strings.Contains(dump.Stdout+dump.Stderr, "Exception") || strings.Contains(dump.Stdout+dump.Stderr, "ismatch") {
			t.Errorf("Kafka's dump-log complains of %s: %.2000s%.2000s", ending, dump.Stdout, dump.Stderr)
		}
		if ending == ".log" && !strings.Contains(dump.Stdout, "deleteHorizonMs: OptionalLong[") {
			t.Error("no batch has a delete horizon")
		}
	}
}

// readByJava has the Java consumer meet the gaps, batches with a delete horizon, and batches without records. It gives up when
// nothing came for a while, as how many records are left is for the cleaner; on a busy machine that may be before the last.
func readByJava(t *testing.T, address, topic, last string, want map[string]string) map[string]string {
	t.Helper()
	var got map[string]string
	node.Eventually(t, "the Java consumer reads the last record", func() bool {
		read := kafka.Tool(t, "console-consumer", "", "--bootstrap-server", address, "--topic", topic, "--partition", "0", "--offset", "earliest",
			"--timeout-ms", "3000", "--formatter-property", "print.key=true")
		got = map[string]string{}
		for _, line := range strings.Split(read.Stdout, "\n") {
			if key, value, ok := strings.Cut(line, "\t"); ok {
				got[key] = value
			}
		}
		t.Logf("the Java consumer reads %d keys:\n%s", len(got), read.Stderr)
		return got[last] == want[last]
	})
	return got
}
