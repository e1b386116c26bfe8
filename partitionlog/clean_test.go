package partitionlog

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/internal/model"
)

// compacted is a configuration under which everything is cleaned at once.
func compacted() Config {
	cfg := testConfig()
	cfg.Compact, cfg.DeleteOld = true, false
	cfg.DeleteRetentionMs, cfg.MaxCompactionMs = 1000, 1<<63-1
	return cfg
}

// keyed makes a batch of records "key=value"; "key" alone is a tombstone.
func keyed(nowMs int64, o batch.Options, records ...string) batch.View {
	b := batch.NewBuilder(o)
	for _, r := range records {
		key, value, has := strings.Cut(r, "=")
		rec := batch.Record{Timestamp: nowMs, Key: []byte(key)}
		if has {
			rec.Value = []byte(value)
		}
		b.Add(rec)
	}
	v, err := b.Build()
	if err != nil {
		panic(err)
	}
	return v
}

// clean cleans a log as its cleaner and its owner do, and gives the offset up to which it is clean.
func clean(t *testing.T, l *Log, env *Env, cleaned model.Offset, nowMs, mapBytes int64) model.Offset {
	t.Helper()
	v := l.View()
	found, err := v.Cleanable(l.cfg, cleaned, nowMs)
	if err != nil {
		t.Fatal(err)
	}
	if found.End <= found.Dirty {
		return cleaned
	}
	c := v.Clean(env, CleanOptions{
		Config: l.cfg, Range: found.Range, NowMs: nowMs, Producers: l.Producers(), MapBytes: mapBytes, KeyLoad: 0.9,
		BufferBytes: 4096, Passed: func(int) error { return nil },
	})
	if err := c.Map(); err != nil {
		t.Fatal(err)
	}
	for {
		r, err := c.Next()
		if errors.Is(err, io.EOF) {
			return c.End()
		}
		if err != nil {
			t.Fatal(err)
		}
		j, err := l.Replace(r, nowMs)
		if err == nil {
			err = j.Run()
			l.Done(j, err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// contents reads a log as a consumer does: "offset:key=value" of every record, markers left out.
func contents(t *testing.T, l *Log) (out []string) {
	t.Helper()
	readAllBatches(t, l.View(), l.LogStart(), l.LogEnd(), 1<<20, func(v batch.View) {
		if v.Control() {
			return
		}
		err := v.Each(func(r batch.Record) error {
			s := fmt.Sprintf("%d:%s", r.Offset, r.Key)
			if r.Value != nil {
				s += "=" + string(r.Value)
			}
			out = append(out, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return out
}

// roll ends the active segment, and makes it durable.
func roll(t *testing.T, l *Log, nowMs int64) {
	t.Helper()
	l.beginSegment(l.next, nowMs)
	appendAll(t, l, StageOptions{NowMs: nowMs}, keyed(nowMs, batch.Options{}, fmt.Sprintf("active%d=", l.next)))
	background(t, l, nowMs)
}

const mapBytes = 1 << 20

func TestTheNewestValueOfEachKeyStaysAtItsOffset(t *testing.T) {
	for _, codec := range []compress.Codec{compress.None, compress.Gzip, compress.Snappy, compress.LZ4, compress.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			l, env, _ := newLogOnDisk(t, compacted())
			o := batch.Options{Codec: codec, Level: compress.DefaultLevel(codec)}
			appendAll(t, l, StageOptions{}, keyed(1, o, "a=1", "b=1", "c=1"), keyed(2, o, "a=2", "d=1"), keyed(3, o, "a=3"))
			roll(t, l, 4)
			if end := clean(t, l, env, model.NoOffset, 5, mapBytes); end != 6 {
				t.Fatalf("clean up to %d, want 6", end)
			}
			want := []string{"1:b=1", "2:c=1", "4:d=1", "5:a=3", "6:active6="}
			if got := contents(t, l); !slices.Equal(got, want) {
				t.Errorf("left %v, want %v", got, want)
			}
			if l.View().segments[0].base != 0 || l.LogStart() != 0 {
				t.Errorf("the log starts at %d", l.LogStart())
			}
		})
	}
}

func TestATombstoneStaysForDeleteRetentionAfterTheCleaningThatMetIt(t *testing.T) {
	l, env, _ := newLogOnDisk(t, compacted())
	appendAll(t, l, StageOptions{}, keyed(1, batch.Options{}, "a=1", "b=1"), keyed(2, batch.Options{}, "a", "c=1"))
	roll(t, l, 3)
	cleaned := clean(t, l, env, model.NoOffset, 10_000, mapBytes)
	want := []string{"1:b=1", "2:a", "3:c=1", "4:active4="}
	if got := contents(t, l); !slices.Equal(got, want) {
		t.Fatalf("after the first cleaning %v, want %v", got, want)
	}
	readAllBatches(t, l.View(), 0, 4, 1<<20, func(v batch.View) {
		if horizon := v.DeleteHorizon(); v.LastOffset() == 3 && horizon != 11_000 || v.LastOffset() != 3 && horizon >= 0 {
			t.Errorf("the batch at %d has the horizon %d", v.BaseOffset(), horizon)
		}
	})
	for _, c := range []struct {
		nowMs int64
		want  []string
	}{
		{10_999, []string{"1:b=1", "2:a", "3:c=1"}},
		{11_000, []string{"1:b=1", "3:c=1"}},
	} {
		roll(t, l, c.nowMs)
		cleaned = clean(t, l, env, cleaned, c.nowMs, mapBytes)
		if got := contents(t, l)[:len(c.want)]; !slices.Equal(got, c.want) {
			t.Errorf("at %d: %v, want %v", c.nowMs, got, c.want)
		}
	}
	r, ok, err := l.View().OffsetForTime(2, 4)
	if err != nil || !ok || r.Offset != 3 || r.TimestampMs != 2 {
		t.Errorf("a record in a batch with a horizon keeps its timestamp: %+v, %v, %v", r, ok, err)
	}
}

func TestAMapThatIsTooSmallTakesSeveralCleanings(t *testing.T) {
	l, env, _ := newLogOnDisk(t, compacted())
	newest := map[string]string{}
	for i := range 40 {
		key := fmt.Sprintf("k%d", i%15)
		newest[key] = fmt.Sprintf("%d:%s=%d", i, key, i)
		appendAll(t, l, StageOptions{}, keyed(int64(i), batch.Options{}, fmt.Sprintf("%s=%d", key, i)))
	}
	roll(t, l, 50)
	cleaned, rounds := model.Offset(0), 0
	for cleaned < 40 {
		next := clean(t, l, env, cleaned, 60, 6*24) // five keys at once
		if next <= cleaned {
			t.Fatalf("no progress beyond %d", cleaned)
		}
		cleaned = next
		rounds++
	}
	if rounds < 40/15 {
		t.Errorf("%d rounds with room for five keys of fifteen", rounds)
	}
	got := contents(t, l)
	if want := slices.Collect(maps.Values(newest)); !sameSet(got[:len(got)-1], want) {
		t.Errorf("left %v, want %v", got, want)
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestSmallSegmentsBecomeOneAndOldReadersGoOn(t *testing.T) {
	cfg := compacted()
	l, env, dir := newLogOnDisk(t, cfg)
	for i := range 6 {
		appendAll(t, l, StageOptions{}, keyed(int64(i), batch.Options{}, "a=x", fmt.Sprintf("b%d=y", i)))
		roll(t, l, int64(i))
	}
	before := l.View()
	old := contents(t, l)
	clean(t, l, env, model.NoOffset, 10, mapBytes)
	if got := bases(l); !slices.Equal(got, []model.Offset{0, 17}) {
		t.Errorf("segments %v, want one and the active one", got)
	}
	after := contents(t, l)
	// The view of before finds what it had, by index and by scan, though another file has the name now.
	var again []string
	readAllBatches(t, before, 0, before.LogEnd, 100, func(v batch.View) {
		_ = v.Each(func(r batch.Record) error {
			again = append(again, fmt.Sprintf("%d:%s=%s", r.Offset, r.Key, r.Value))
			return nil
		})
	})
	if !slices.Equal(again, old) {
		t.Errorf("an older view reads %v, want %v", again, old)
	}
	// Cleaned once more, the names of the first set are needed again.
	clean(t, l, env, 0, 20, mapBytes)
	if got := contents(t, l); !slices.Equal(got, after) {
		t.Errorf("the second cleaning left %v, want %v", got, after)
	}
	if _, err := before.Read(0, 1, 100, true); !errors.Is(err, ErrStale) {
		t.Errorf("the oldest view's files are gone: %v", err)
	}
	background(t, l, 10+cfg.FileDeleteDelayMs+20)
	for _, pattern := range []string{"*.deleted", "*.cleaned", "*.swap"} {
		if left := globs(t, dir, pattern); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
	if snapshots := globs(t, dir, "*.snapshot"); len(snapshots) != 1 {
		t.Errorf("snapshots of segments that are no more: %v", snapshots)
	}
}
