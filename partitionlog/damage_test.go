package partitionlog

import (
	"bytes"
	"os"
	"path/filepath"
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
