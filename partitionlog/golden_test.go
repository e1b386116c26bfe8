package partitionlog

import (
	"bufio"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/producer"
)

// goldenLogs copies the logs that Kafka 4.3.1 wrote (testdata/kafka/README.md), so that opening them may write.
func goldenLogs(t *testing.T) map[string]string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/kafka/*/*-0")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden logs: %v", err)
	}
	out := map[string]string{}
	for _, d := range dirs {
		to := filepath.Join(t.TempDir(), filepath.Base(d))
		if err := os.CopyFS(to, os.DirFS(d)); err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(filepath.Dir(d))] = to
	}
	return out
}

// dumpedBatch is what Kafka's dump says of a batch.
type dumpedBatch struct {
	base, last, pos, size, maxMs, pid int64
	epoch                             int32
	control                           bool
}

var dumpLine = regexp.MustCompile(`^baseOffset: (\d+) lastOffset: (\d+) .*producerId: (-?\d+) .*partitionLeaderEpoch: (\d+) ` +
	`.*isControl: (true|false) .*position: (\d+) .*[ \w]*(?:MaxTimestamp|CreateTime|LogAppendTime): (-?\d+) size: (\d+) `)

// dumpOf reads the batches of a golden log from its dump.txt, by segment.
func dumpOf(t *testing.T, name string) []dumpedBatch {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/kafka", name, "dump.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []dumpedBatch
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := dumpLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		n := func(i int) int64 { v, _ := strconv.ParseInt(m[i], 10, 64); return v }
		out = append(out, dumpedBatch{base: n(1), last: n(2), pid: n(3), epoch: int32(n(4)), control: m[5] == "true",
			pos: n(6), maxMs: n(7), size: n(8)})
	}
	if len(out) == 0 {
		t.Fatalf("no batch in the dump of %s", name)
	}
	return out
}

func TestLogsThatKafkaWroteAreReadAsKafkaDumpsThem(t *testing.T) {
	for name, dir := range goldenLogs(t) {
		for _, clean := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " after a clean stop", false: " after a crash"}[clean], func(t *testing.T) {
				want := dumpOf(t, name)
				env := testEnv(vfs.OS())
				tp := model.TopicPartition{Topic: name}
				end := model.Offset(want[len(want)-1].last + 1)
				l, report, err := Open(env, dir, tp, testConfig(), OpenParams{Clean: clean, HighWatermark: end})
				if err != nil || report.Reason != nil || report.TruncatedBytes != 0 || report.DeletedSegments != 0 {
					t.Fatalf("opened with %+v, %v", report, err)
				}
				if l.LogEnd() != end || l.LogStart() != model.Offset(want[0].base) || l.HighWatermark() != end {
					t.Fatalf("offsets %d to %d, high watermark %d; Kafka's end is %d", l.LogStart(), l.LogEnd(), l.HighWatermark(), end)
				}
				i := 0
				readAllBatches(t, l.View(), l.LogStart(), end, 1<<20, func(v batch.View) {
					w := want[i]
					if int64(v.BaseOffset()) != w.base || int64(v.LastOffset()) != w.last || int64(len(v)) != w.size ||
						int64(v.ProducerID()) != w.pid || v.Control() != w.control || int32(v.LeaderEpoch()) != w.epoch {
						t.Fatalf("batch %d is %d-%d of %d bytes, Kafka says %+v", i, v.BaseOffset(), v.LastOffset(), len(v), w)
					}
					i++
				})
				if i != len(want) {
					t.Fatalf("read %d batches of %d", i, len(want))
				}
				checkEveryOffset(t, l.View(), want)
			})
		}
	}
}

// checkEveryOffset reads from each offset, which must begin with the batch that holds it, and looks up times.
func checkEveryOffset(t *testing.T, v *View, want []dumpedBatch) {
	t.Helper()
	for _, w := range want {
		for o := max(w.base, int64(v.LogStart)); o <= w.last; o++ {
			r, err := v.Read(model.Offset(o), v.LogEnd, 1, true)
			if err != nil || r.Len != w.size || r.Pos != w.pos {
				t.Fatalf("offset %d: %d bytes at %d, %v; Kafka says %+v", o, r.Len, r.Pos, err, w)
			}
			r.Release()
		}
	}
}

// readAllBatches reads a log as a consumer does.
func readAllBatches(t *testing.T, v *View, from, to model.Offset, maxBytes int, each func(batch.View)) {
	t.Helper()
	for from < to {
		r, err := v.Read(from, to, maxBytes, true)
		if err != nil || r.Len == 0 {
			t.Fatalf("read at %d of %d: %d bytes, %v", from, to, r.Len, err)
		}
		b := make([]byte, r.Len)
		if err := readFull(r.File, b, r.Pos); err != nil {
			t.Fatal(err)
		}
		r.Release()
		for len(b) > 0 {
			first, rest, err := batch.First(b)
			if err == nil {
				err = first.CheckCRC()
			}
			if err != nil {
				t.Fatalf("batch after %d: %v", from, err)
			}
			each(first)
			from, b = first.NextOffset(), rest
		}
	}
}

// filesOf reads a directory's index files and snapshots, whose bytes are to be Kafka's.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLostIndexesAreRebuiltAsKafkaHadThem(t *testing.T) {
	for name, dir := range goldenLogs(t) {
		t.Run(name, func(t *testing.T) {
			want := filesOf(t, dir)
			cfg := testConfig()
			if strings.Contains(name, "segments") || name == "deleted" {
				cfg.SegmentBytes, cfg.IndexIntervalBytes = 4096, 512
			}
			for file := range want {
				if x := filepath.Ext(file); x == ".index" || x == ".timeindex" || x == ".txnindex" {
					if err := os.Remove(filepath.Join(dir, file)); err != nil {
						t.Fatal(err)
					}
				}
			}
			env := testEnv(vfs.OS())
			// Without snapshots producers are replayed from the start, and the transaction indexes with them.
			for _, s := range globs(t, dir, "*.snapshot") {
				if err := os.Remove(s); err != nil {
					t.Fatal(err)
				}
			}
			l, _, err := Open(env, dir, model.TopicPartition{Topic: name}, cfg, OpenParams{})
			if err != nil {
				t.Fatal(err)
			}
			finish(t, l)
			got := filesOf(t, dir)
			for _, file := range slices.Sorted(maps.Keys(want)) {
				switch x := filepath.Ext(file); {
				case name == "epochs" && x == ".timeindex":
					// Kafka closed this log three times as it grew, and each time added the greatest timestamp so far.
					if !strings.HasSuffix(want[file], got[file]) || got[file] == "" {
						t.Errorf("%s: rebuilt as %x, Kafka wrote %x", file, got[file], want[file])
					}
				case x == ".index" || x == ".timeindex" || x == ".txnindex":
					if got[file] != want[file] {
						t.Errorf("%s: rebuilt as %x, Kafka wrote %x", file, got[file], want[file])
					}
				}
			}
			last := fileID{offset: l.LogEnd(), suffix: suffixSnapshot}.String()
			if g, w := producersIn(t, got[last]), producersIn(t, want[last]); !slices.Equal(g, w) {
				t.Errorf("producers replayed as %+v, Kafka has %+v", g, w)
			}
		})
	}
}

// producersIn reads a snapshot; Kafka writes producers in no order.
func producersIn(t *testing.T, snapshot string) []producer.Entry {
	t.Helper()
	entries, err := producer.DecodeSnapshot([]byte(snapshot))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(entries, func(a, b producer.Entry) int { return int(a.ProducerID - b.ProducerID) })
	return entries
}

func globs(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// finish closes a log as its owner does.
func finish(t *testing.T, l *Log) {
	t.Helper()
	if j := l.Close(); j != nil {
		err := j.Run()
		l.Done(j, err)
		if err != nil {
			t.Fatal(err)
		}
	}
}
