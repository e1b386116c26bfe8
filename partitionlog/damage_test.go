package partitionlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// Bits that rot in an old segment are no trace of a crash: what was synced behind them must not go with them.
func TestDamageInASegmentThatWasSyncedTakesNothingBehindIt(t *testing.T) {
	one := int64(len(sequenced(1, 0, 0)))
	cfg := testConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 3*one, 0
	name := func(base model.Offset, x suffix) string { return fileID{offset: base, suffix: x}.String() }
	// The second batch of the segment gets a length that no batch has.
	rot := func(data []byte) []byte { data[one+8] = 0xff; return data }
	half := func(data []byte) []byte { return data[:len(data)/2] }
	longer := func(data []byte) []byte {
		return append(data, "what no batch begins with, and longer than the header of one would be"...)
	}
	for _, c := range []struct {
		name    string
		segment model.Offset
		damage  func([]byte) []byte
		lost    string // a file that is lost besides
	}{
		{"an index was lost", 3, rot, name(3, suffixIndex)},
		{"the leader epochs were lost", 3, rot, "leader-epoch-checkpoint"},
		{"the file ends before its index says", 3, half, ""},
		{"the segment before the snapshot is rotten", 9, rot, ""},
		{"something was written behind the segment before the snapshot", 9, longer, ""},
	} {
		for _, clean := range []bool{true, false} {
			t.Run(c.name+map[bool]string{true: ", after a clean stop", false: ", after a kill"}[clean], func(t *testing.T) {
				l, env, dir := newLogOnDisk(t, cfg)
				for seq := range model.Sequence(14) {
					appendAll(t, l, StageOptions{}, sequenced(1, 0, seq))
					background(t, l, 1)
				}
				if clean {
					finish(t, l)
				} else {
					l.Abandon()
				}
				damaged := rewrite(t, filepath.Join(dir, name(c.segment, suffixLog)), c.damage)
				if c.lost != "" {
					if err := os.Remove(filepath.Join(dir, c.lost)); err != nil {
						t.Fatal(err)
					}
				}

				l, report, err := Open(env, dir, testPartition, cfg, OpenParams{Clean: clean, HighWatermark: 14})
				if err != nil {
					t.Fatal(err)
				}
				if l.LogEnd() != 14 || report.DeletedSegments != 0 || report.TruncatedBytes != 0 || report.Reason == nil {
					t.Errorf("the log ends at %d of 14, %+v", l.LogEnd(), report)
				}
				if after, err := os.ReadFile(filepath.Join(dir, name(c.segment, suffixLog))); err != nil || !bytes.Equal(after, damaged) {
					t.Errorf("the damaged segment was changed: %d bytes of %d, %v", len(after), len(damaged), err)
				}
				for o := range model.Offset(14) {
					if o < c.segment || o >= c.segment+3 {
						expectBatch(t, l, o, one)
					}
				}
				if s, _, err := l.Stage(sequenced(1, 0, 14), StageOptions{}); err != nil || s.BaseOffset != 14 {
					t.Errorf("the producer's next batch: %+v, %v", s, err)
				}
				l.Abandon()
			})
		}
	}
}

// What is missing without a trace in the files is told by the high watermark.
func TestALogThatEndsBeforeItsHighWatermarkSaysSo(t *testing.T) {
	cfg := testConfig()
	cfg.SegmentBytes = 3 * int64(len(sequenced(1, 0, 0)))
	for _, clean := range []bool{true, false} {
		l, env, dir := newLogOnDisk(t, cfg)
		for seq := range model.Sequence(14) {
			appendAll(t, l, StageOptions{}, sequenced(1, 0, seq))
			background(t, l, 1)
		}
		if clean {
			finish(t, l)
		} else {
			l.Abandon()
		}
		if err := os.Remove(filepath.Join(dir, fileID{offset: 12, suffix: suffixLog}.String())); err != nil {
			t.Fatal(err)
		}
		l, report, err := Open(env, dir, testPartition, cfg, OpenParams{Clean: clean, HighWatermark: 14})
		if err != nil {
			t.Fatal(err)
		}
		if l.LogEnd() != 12 || report.Reason == nil {
			t.Errorf("the log ends at %d of 14, and nothing else is said: %+v", l.LogEnd(), report)
		}
		l.Abandon()
	}
}

// Somebody emptied or deleted a segment while the broker was down. Readers go on behind it, as Kafka's do.
func TestASegmentThatWasEmptiedOrDeletedIsMissed(t *testing.T) {
	one := int64(len(sequenced(1, 0, 0)))
	empty := func(t *testing.T, path string) { rewrite(t, path, func([]byte) []byte { return nil }) }
	remove := func(t *testing.T, path string) {
		for _, x := range []suffix{suffixLog, suffixIndex, suffixTimeIndex, suffixSnapshot} {
			file := strings.TrimSuffix(path, string(suffixLog)) + string(x)
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(*testing.T, string)
		says   []string
	}{
		{"emptied", empty, []string{"00000000000000000003.log", "empty", "3 to 5"}},
		{"deleted", remove, []string{"00000000000000000000.log", "00000000000000000006.log", "3 to 5"}},
	} {
		for _, interval := range []int64{0, 1 << 20} { // every batch has an index entry, or none
			for _, p := range []OpenParams{{Clean: true}, {RecoveryPoint: 14}, {}, {Kept: true}} {
				t.Run(fmt.Sprintf("%s, index.interval.bytes %d, %+v", c.name, interval, p), func(t *testing.T) {
					cfg := testConfig()
					cfg.SegmentBytes, cfg.IndexIntervalBytes = 3*one, interval
					l, env, dir := newLogOnDisk(t, cfg)
					for seq := range model.Sequence(14) {
						appendAll(t, l, StageOptions{}, sequenced(1, 0, seq))
						background(t, l, 1)
					}
					if p.Clean {
						finish(t, l)
					} else {
						l.Abandon()
					}
					c.damage(t, filepath.Join(dir, fileID{offset: 3, suffix: suffixLog}.String()))

					p.HighWatermark = 14
					l, report, err := Open(env, dir, testPartition, cfg, p)
					if err != nil {
						t.Fatal(err)
					}
					defer l.Abandon()
					if report.Reason == nil || l.LogEnd() != 14 || report.DeletedSegments != 0 {
						t.Fatalf("the log ends at %d of 14: %+v", l.LogEnd(), report)
					}
					for _, text := range c.says {
						if !strings.Contains(report.Reason.Error(), text) {
							t.Errorf("%v\ndoes not say %q", report.Reason, text)
						}
					}
					for o, want := range map[model.Offset]model.Offset{2: 2, 3: 6, 5: 6, 6: 6, 13: 13} {
						r, err := l.View().Read(o, l.LogEnd(), int(one), true)
						if err != nil {
							t.Fatalf("a read at %d: %v", o, err)
						}
						head := make(batch.View, one)
						if _, err := r.File.ReadAt(head, r.Pos); err != nil || head.BaseOffset() != want {
							t.Errorf("a read at %d gives the batch at %d, want %d; %v", o, head.BaseOffset(), want, err)
						}
						r.Release()
					}
				})
			}
		}
	}
}

// withGap leaves a closed log of 14 batches, three a segment, whose second segment is gone.
func withGap(t *testing.T) (cfg Config, env *Env, dir string) {
	t.Helper()
	cfg = testConfig()
	cfg.SegmentBytes = 3 * int64(len(sequenced(1, 0, 0)))
	l, env, dir := newLogOnDisk(t, cfg)
	for seq := range model.Sequence(14) {
		appendAll(t, l, StageOptions{}, sequenced(1, 0, seq))
		background(t, l, 1)
	}
	finish(t, l)
	if err := os.Remove(filepath.Join(dir, fileID{offset: 3, suffix: suffixLog}.String())); err != nil {
		t.Fatal(err)
	}
	return cfg, env, dir
}

// A log that must be whole is not opened over a gap.
func TestAGapInALogThatMustBeWholeIsRefused(t *testing.T) {
	cfg, env, dir := withGap(t)
	for required, refused := range map[model.Offset]bool{3: false, 14: true} {
		l, _, err := Open(env, dir, testPartition, cfg, OpenParams{Clean: true, Required: required})
		if (err != nil) != refused {
			t.Errorf("required up to %d: %v", required, err)
		}
		if err == nil {
			l.Abandon()
		}
	}
}

// What compaction removed is no gap.
func TestASegmentOfACompactedLogMayEndBeforeTheNextOne(t *testing.T) {
	cfg, env, dir := withGap(t)
	for _, c := range []struct {
		title   string
		compact bool
		cleaned model.Offset
		missed  bool
	}{
		{"a compacted log", true, 0, false},
		{"one that was compacted once, beyond the gap", false, 6, false},
		{"one that was compacted once, and not so far", false, 5, true},
	} {
		cfg.Compact = c.compact
		l, report, err := Open(env, dir, testPartition, cfg, OpenParams{Clean: true, Cleaned: c.cleaned})
		if err != nil || (report.Reason != nil) != c.missed {
			t.Fatalf("%s: %v, %v", c.title, report.Reason, err)
		}
		l.Abandon()
	}
}

// What Kafka synced nobody knows. Its own recovery looks for no gap, so nothing is cut off that it would have served.
func TestInALogThatKafkaLeftOpenAGapIsToldOfAndNothingIsCutOff(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		cfg, env, dir := withGap(t)
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range names {
			path := filepath.Join(dir, e.Name())
			switch id, _ := parseFileID(e.Name()); {
			case id.suffix == suffixSnapshot && !snapshots:
				err = os.Remove(path)
			case id.suffix == suffixIndex || id.suffix == suffixTimeIndex: // the room that Kafka keeps in an active segment's
				rewrite(t, path, func(data []byte) []byte { return append(data, make([]byte, 240)...) })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		l, report, err := Open(env, dir, testPartition, cfg, OpenParams{})
		if err != nil || l.LogEnd() != 14 || report.DeletedSegments != 0 || report.Reason == nil {
			t.Errorf("snapshots %v: the log ends at %d, %+v, %v", snapshots, l.LogEnd(), report, err)
		}
		l.Abandon()
	}
}

// rewrite changes a file and gives what is in it now.
func rewrite(t *testing.T, path string, change func([]byte) []byte) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		data = change(data)
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// expectBatch reads the one batch that begins at an offset.
func expectBatch(t *testing.T, l *Log, o model.Offset, size int64) {
	t.Helper()
	r, err := l.View().Read(o, l.LogEnd(), int(size), true)
	if err != nil {
		t.Errorf("offset %d: %v", o, err)
		return
	}
	defer r.Release()
	data := make(batch.View, size)
	if _, err := r.File.ReadAt(data, r.Pos); err != nil || data.BaseOffset() != o || data.CheckCRC() != nil {
		t.Errorf("offset %d: %v, a batch at %d", o, err, data.BaseOffset())
	}
}
