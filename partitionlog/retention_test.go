package partitionlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// sixSegments is a log of two batches a segment, with the timestamps 0, 10, 20 …, whose end is 12.
func sixSegments(t *testing.T, change func(*Config)) (*Log, *Env, string) {
	t.Helper()
	cfg := testConfig()
	cfg.SegmentBytes = 2 * int64(len(at(0)))
	change(&cfg)
	l, env, dir := newLogOnDisk(t, cfg)
	for i := range 12 {
		appendAll(t, l, StageOptions{NowMs: 5000}, at(int64(10*i)))
	}
	background(t, l, 1)
	return l, env, dir
}

func TestRetentionRemovesTheOldestSegmentsUpToTheFirstThatStays(t *testing.T) {
	size := int64(len(at(0)))
	for _, c := range []struct {
		name   string
		change func(*Config)
		nowMs  int64
		hw     model.Offset
		start  model.Offset // raised by DeleteRecords
		want   string
		by     string // the rule that takes the first
	}{
		{"nothing is old", func(c *Config) { c.RetentionMs = 100 }, 110, 12, 0, "[0 2 4 6 8 10]", ""},
		{"two segments are older than retention.ms", func(c *Config) { c.RetentionMs = 100 }, 131, 12, 0, "[4 6 8 10]", "retention.ms"},
		{"a segment at the limit stays", func(c *Config) { c.RetentionMs = 100 }, 130, 12, 0, "[2 4 6 8 10]", "retention.ms"},
		{"all are old: an empty segment is left", func(c *Config) { c.RetentionMs = 100 }, 500, 12, 0, "[12]", "retention.ms"},
		{"nothing at or above the high watermark goes", func(c *Config) { c.RetentionMs = 100 }, 500, 5, 0, "[4 6 8 10]", "retention.ms"},
		{"kept for ever", func(c *Config) { c.RetentionMs = -1 }, 1 << 50, 12, 0, "[0 2 4 6 8 10]", ""},
		{"larger than retention.bytes by three segments", func(c *Config) { c.RetentionBytes = 6 * size }, 0, 12, 0, "[6 8 10]", "retention.bytes"},
		{"the log stays at least retention.bytes large", func(c *Config) { c.RetentionBytes = 7 * size }, 0, 12, 0, "[4 6 8 10]", "retention.bytes"},
		{"no byte is kept", func(c *Config) { c.RetentionBytes = 0 }, 0, 12, 0, "[12]", "retention.bytes"},
		{"below the log start", func(*Config) {}, 0, 12, 5, "[4 6 8 10]", "log start"},
		{"below the log start of a compacted topic", func(c *Config) { c.DeleteOld, c.RetentionMs = false, 1 }, 500, 12, 4, "[4 6 8 10]", "log start"},
		{"all records deleted: the last segment stays", func(*Config) {}, 0, 12, 12, "[10]", "log start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, env, dir := sixSegments(t, c.change)
			l.hw = c.hw
			if err := l.DeleteRecordsTo(c.start); err != nil {
				t.Fatal(err)
			}
			j := l.Retention(c.nowMs)
			if j != nil {
				l.Done(j, j.Run())
				if e := j.Expired(); e.By != c.by || e.Segments == 0 || e.Bytes != 2*size*int64(e.Segments) {
					t.Errorf("the job says that %+v, want by %q", e, c.by)
				}
			}
			if got := fmt.Sprint(bases(l)); got != c.want || l.Err() != nil {
				t.Fatalf("segments %s, want %s; %v", got, c.want, l.Err())
			}
			if want := max(l.segments[0].base, c.start); l.LogStart() != want || l.LogEnd() != 12 {
				t.Errorf("the log is %d to %d, want %d to 12", l.LogStart(), l.LogEnd(), want)
			}
			if _, err := l.View().Read(l.LogStart()-1, 12, 1, true); l.LogStart() > 0 && !errors.Is(err, kerr.OffsetOutOfRange) {
				t.Errorf("a read below the start: %v", err)
			}
			appendAll(t, l, StageOptions{NowMs: 5000}, at(9000))
			var want int64
			for _, s := range l.segments {
				want += s.size
			}
			if l.Size() != want || l.LogEnd() != 13 {
				t.Errorf("size %d, want %d; end %d", l.Size(), want, l.LogEnd())
			}
			finish(t, l)
			l2, report, err := Open(env, dir, testPartition, l.cfg, OpenParams{Clean: true, LogStart: l.LogStart()})
			if err != nil || report != (Recovery{}) || fmt.Sprint(bases(l2)) != fmt.Sprint(bases(l)) || l2.LogEnd() != 13 {
				t.Errorf("opened with segments %v to %d: %+v, %v", bases(l2), l2.LogEnd(), report, err)
			}
		})
	}
}

func TestARemovedSegmentCanBeReadUntilItsFilesAreUnlinked(t *testing.T) {
	l, _, dir := sixSegments(t, func(c *Config) { c.RetentionMs, c.FileDeleteDelayMs = 100, 60_000 })
	old := l.View()
	j := l.Retention(131)
	l.Done(j, j.Run())
	deleted := func() (n int) {
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range names {
			if strings.HasSuffix(e.Name(), ".deleted") {
				n++
			}
		}
		return n
	}
	if n := deleted(); n != 6 { // log, index and time index of two segments
		t.Errorf("%d files wait for their removal, want 6", n)
	}
	background(t, l, 60_130)
	r, err := old.Read(0, 12, 1, true)
	if err != nil || r.Len == 0 {
		t.Fatalf("a view of before reads %d bytes, %v", r.Len, err)
	}
	b := make([]byte, r.Len)
	background(t, l, 60_131)
	if err := readFull(r.File, b, r.Pos); err != nil || deleted() != 0 {
		t.Errorf("a region that is held: %v; %d files are left", err, deleted())
	}
	r.Release()
	if _, err := old.Read(0, 12, 1, true); !errors.Is(err, ErrStale) {
		t.Errorf("a view of before, after the removal: %v", err)
	}
}

func TestRecordsAreDeletedUpToTheHighWatermarkOnly(t *testing.T) {
	l, _, _ := sixSegments(t, func(*Config) {})
	l.hw = 7
	for _, c := range []struct {
		to, want model.Offset
		err      error
	}{{3, 3, nil}, {2, 3, nil}, {8, 3, kerr.OffsetOutOfRange}, {7, 7, nil}} {
		if err := l.DeleteRecordsTo(c.to); !errors.Is(err, c.err) || l.LogStart() != c.want {
			t.Errorf("to %d: the log starts at %d, want %d; %v", c.to, l.LogStart(), c.want, err)
		}
	}
	if r, ok, err := l.View().OffsetForTime(0, 12); err != nil || !ok || r.Offset != 7 {
		t.Errorf("the first record by time is %+v, %v, %v", r, ok, err)
	}
}

func TestTruncationKeepsWhatEndsBeforeTheOffset(t *testing.T) {
	for _, c := range []struct {
		to, end model.Offset
		want    string
	}{{12, 12, "[0 2 4 6 8 10]"}, {11, 11, "[0 2 4 6 8 10]"}, {8, 8, "[0 2 4 6 8]"}, {3, 3, "[0 2]"}, {0, 0, "[0]"}} {
		l, env, dir := sixSegments(t, func(*Config) {})
		if j := l.TruncateTo(c.to); j != nil {
			if _, _, err := l.Stage(at(1), StageOptions{}); !errors.Is(err, ErrBusy) {
				t.Errorf("a batch during a truncation: %v", err)
			}
			l.Done(j, j.Run())
		}
		if l.Err() != nil || l.LogEnd() != c.end || fmt.Sprint(bases(l)) != c.want || l.RecoveryPoint() > c.end || l.HighWatermark() > c.end {
			t.Errorf("to %d: it ends at %d with segments %v, recovery point %d; %v", c.to, l.LogEnd(), bases(l), l.RecoveryPoint(), l.Err())
		}
		appendAll(t, l, StageOptions{LeaderEpoch: 3}, at(77))
		if e, end := l.EpochEnd(3); e != 3 || end != c.end+1 {
			t.Errorf("epoch 3 ends at (%d, %d)", e, end)
		}
		l.Abandon()
		l, _, err := Open(env, dir, testPartition, l.cfg, OpenParams{})
		if err != nil || l.LogEnd() != c.end+1 {
			t.Errorf("opened, it ends at %d, %v", l.LogEnd(), err)
		}
	}
}

func TestAResetLogBeginsAndEndsWhereItIsTold(t *testing.T) {
	l, env, dir := sixSegments(t, func(*Config) {})
	j := l.Reset(500)
	l.Done(j, j.Run())
	if l.Err() != nil || l.LogStart() != 500 || l.LogEnd() != 500 || l.Size() != 0 || len(l.Producers()) != 0 {
		t.Fatalf("%d to %d, %v", l.LogStart(), l.LogEnd(), l.Err())
	}
	l.Abandon()
	l, _, err := Open(env, dir, testPartition, l.cfg, OpenParams{})
	if err != nil || l.LogStart() != 500 || l.LogEnd() != 500 {
		t.Fatalf("opened: %d to %d, %v", l.LogStart(), l.LogEnd(), err)
	}
	appendAll(t, l, StageOptions{}, at(1))
	if l.LogEnd() != 501 {
		t.Errorf("the log ends at %d", l.LogEnd())
	}
}

func TestWhatACleanerLeftHalfDoneIsFinishedOrDropped(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string // new name -> file that it is a copy of
		want  string
	}{
		{"a cleaned file is not complete", map[string]string{"0.log.cleaned": "0.log", "0.index.cleaned": "0.index"}, "[0 2 4 6 8 10]"},
		{"a swap file replaces the segments that it covers", map[string]string{"2.log.swap": "2+4.log"}, "[0 2 6 8 10]"},
		{"a swap file is of a group that was not complete", map[string]string{"2.log.swap": "2+4.log", "2.log.cleaned": "2.log"}, "[0 2 4 6 8 10]"},
		{"a cleaned file of a later group does not matter", map[string]string{"2.log.swap": "2+4.log", "6.log.cleaned": "6.log"}, "[0 2 6 8 10]"},
		{"a deleted file is removed", map[string]string{"0.log.deleted": "0.log"}, "[0 2 4 6 8 10]"},
		{"an index without a segment is removed", map[string]string{"99.index": "0.index"}, "[0 2 4 6 8 10]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, env, dir := sixSegments(t, func(*Config) {})
			finish(t, l)
			full := func(short string) string {
				digits, rest, _ := strings.Cut(short, ".")
				return filepath.Join(dir, strings.Repeat("0", 20-len(digits))+digits+"."+rest)
			}
			for to, from := range c.files {
				var data []byte
				for _, part := range strings.Split(strings.TrimSuffix(from, filepath.Ext(from)), "+") {
					b, err := os.ReadFile(full(part + filepath.Ext(from)))
					if err != nil {
						t.Fatal(err)
					}
					data = append(data, b...)
				}
				if err := os.WriteFile(full(to), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			l, _, err := Open(env, dir, testPartition, l.cfg, OpenParams{RecoveryPoint: 12})
			if err != nil || fmt.Sprint(bases(l)) != c.want {
				t.Fatalf("segments %v, want %s; %v", bases(l), c.want, err)
			}
			var read []model.Offset
			readAllBatches(t, l.View(), 0, 12, 1, func(b batchView) { read = append(read, b.BaseOffset()) })
			if len(read) != 12 {
				t.Errorf("read %v", read)
			}
			for to := range c.files {
				if _, err := os.Stat(full(to)); err == nil {
					t.Errorf("%s is still there", to)
				}
			}
		})
	}
}
