//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// logDirVar names the environment variable with the log directory of the broker that INTEROP_BOOTSTRAP names.
const logDirVar = "INTEROP_LOG_DIR"

// written gives a log directory with segments of every codec, indexes and producer snapshots, and the topic's name.
// The broker of the test's own is stopped, so that the files are those of a clean end.
func written(t *testing.T) (dir, topic string) {
	t.Helper()
	address, dir := os.Getenv(node.BootstrapVar), os.Getenv(logDirVar)
	var own *node.Node
	if address == "" {
		own = node.Start(t, node.Options{Set: []string{"metadata.log.max.record.bytes.between.snapshots=1"}})
		address, dir = own.Bootstrap, own.Dir
	}
	if dir == "" {
		t.Skipf("%s is set and %s is not: the files cannot be found", node.BootstrapVar, logDirVar)
	}
	topic = segmented(t, address)
	if own != nil {
		node.Eventually(t, "a checkpoint of the metadata tells of more than the cluster's first voters", func() bool {
			found, err := filepath.Glob(filepath.Join(dir, "__cluster_metadata-0", "*.checkpoint"))
			return err == nil && slices.ContainsFunc(found, func(path string) bool { return !strings.HasPrefix(filepath.Base(path), "00000000000000000000-") })
		})
		own.Terminate()
	}
	return dir, topic
}

// segmented makes a topic and fills several of its smallest segments with each codec, by idempotent producers.
func segmented(t *testing.T, address string) string {
	t.Helper()
	topic := freshName("dump")
	admin := kadm.NewClient(client(t, address))
	small, forever, dense := "1048576", "-1", "1024"
	settings := map[string]*string{"segment.bytes": &small, "retention.ms": &forever, "index.interval.bytes": &dense}
	if resp, err := admin.CreateTopic(t.Context(), 1, 1, settings, topic); err != nil || resp.Err != nil {
		t.Fatal(err, resp.Err)
	}
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		writer := client(t, address, kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(8<<10))
		for i := range 20_000 {
			writer.Produce(t.Context(), &kgo.Record{Key: key(i), Value: value(i), Headers: []kgo.RecordHeader{{Key: "n"}}}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := writer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return topic
}

// files gives the files of a folder with an ending, as dump-log takes them.
func files(t *testing.T, dir, ending string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	if err != nil || len(found) == 0 {
		t.Fatalf("no *%s in %s: %v", ending, dir, err)
	}
	return strings.Join(found, ",")
}

// complaints are words of dump-log's when something is wrong; it ends with 0 all the same.
var complaints = []string{"isvalid: false", "mismatch", "Mismatch", "Exception", "orrupt", "Non-consecutive", "out of order", "not found", "Could not read", "Found timestamp"}

// firstBatches matches what dump-log says of every segment but the first: it takes each to begin at offset 0.
var firstBatches = regexp.MustCompile(`Non-consecutive offsets in \S+\n  -1 is followed by \d+\n`)

func TestKafkaDumpsOurFilesWithoutAComplaintAndOursPrintsTheSame(t *testing.T) {
	dir, topic := written(t)
	partition, metadata := filepath.Join(dir, topic+"-0"), filepath.Join(dir, "__cluster_metadata-0")
	cases := []struct {
		title, folder, ending string
		flags                 []string
		each                  string // what is there at least once
	}{
		{"segments record by record", partition, ".log", []string{"--deep-iteration", "--print-data-log"}, "isvalid: true"},
		{"batches of segments", partition, ".log", nil, "producerEpoch: 0"},
		{"offset indexes", partition, ".index", nil, "offset: "},
		{"offset indexes, sanity", partition, ".index", []string{"--index-sanity-check"}, "passed sanity check"},
		{"offset indexes against the segments", partition, ".index", []string{"--verify-index-only"}, ""},
		{"time indexes", partition, ".timeindex", nil, "timestamp: "},
		{"time indexes, sanity", partition, ".timeindex", []string{"--index-sanity-check"}, "passed sanity check"},
		{"producer snapshots", partition, ".snapshot", nil, "producerId: "},
		{"the metadata log", metadata, ".log", []string{"--deep-iteration", "--cluster-metadata-decoder"}, `"type":"TOPIC_RECORD"`},
		{"metadata checkpoints", metadata, ".checkpoint", []string{"--deep-iteration", "--cluster-metadata-decoder"}, "FEATURE_LEVEL_RECORD"},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			args := append([]string{"--files", files(t, c.folder, c.ending)}, c.flags...)
			theirs := kafka.Tool(t, "dump-log", "", args...)
			if theirs.Code != 0 || !strings.Contains(theirs.Stdout, c.each) {
				t.Fatalf("Kafka's dump-log ends with %d, and %q must be there:\n%.2000s\n%.2000s", theirs.Code, c.each, theirs.Stdout, theirs.Stderr)
			}
			for _, line := range strings.Split(firstBatches.ReplaceAllString(theirs.Stdout+theirs.Stderr, ""), "\n") {
				for _, word := range complaints {
					if strings.Contains(line, word) && !strings.Contains(line, "payload: value") {
						t.Errorf("Kafka's dump-log complains: %s", line)
					}
				}
			}
			ours := troupe(t, "", append([]string{"dump-log"}, args...)...)
			if ours.Code != theirs.Code || ours.Stdout != theirs.Stdout {
				t.Errorf("ours ends with %d; %s", ours.Code, firstDifference(ours.Stdout, theirs.Stdout))
			}
		})
	}
}

// firstDifference shows the first line in which two long texts differ.
func firstDifference(ours, theirs string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%.300s\nand Kafka's\n%.300s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("it prints %d lines, Kafka's %d", len(a), len(b))
}

func TestEveryRecordThatWasWrittenIsInTheDump(t *testing.T) {
	dir, topic := written(t)
	dump := kafka.Tool(t, "dump-log", "", "--files", files(t, filepath.Join(dir, topic+"-0"), ".log"), "--print-data-log")
	if got := bytes.Count([]byte(dump.Stdout), []byte("\n| offset: ")); got != 5*20_000 {
		t.Errorf("%d records are in the dump, want %d", got, 5*20_000)
	}
}
