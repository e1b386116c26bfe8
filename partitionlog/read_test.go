package partitionlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

type batchView = batch.View

func TestAReadGivesWholeBatchesWithinItsBounds(t *testing.T) {
	l, _, _ := newLogOnDisk(t, testConfig())
	for range 200 { // three records of 1,000 bytes a batch
		appendAll(t, l, StageOptions{}, records(t, 3, 1000))
	}
	const size = 1000
	v := l.View()
	for _, c := range []struct {
		name       string
		from, upTo model.Offset
		max        int
		atLeastOne bool
		pos, len   int64
		err        error
	}{
		{"all that there is", 0, 600, 1 << 20, true, 0, 200 * size, nil},
		{"from the middle of a batch, its beginning", 301, 600, 1 << 20, true, 100 * size, 100 * size, nil},
		{"not the batch that holds the bound", 0, 301, 1 << 20, true, 0, 100 * size, nil},
		{"the bound is the next batch", 0, 300, 1 << 20, true, 0, 100 * size, nil},
		{"nothing before the bound", 300, 302, 1 << 20, true, 0, 0, nil},
		{"as many as fit", 0, 600, 2999, true, 0, 2 * size, nil},
		{"as many as fit exactly", 0, 600, 3000, true, 0, 3 * size, nil},
		{"as many as fit, far from the end", 3, 600, 150_500, true, size, 150 * size, nil},
		{"as many as fit near the end", 570, 600, 3500, true, 190 * size, 3 * size, nil},
		{"the first one even if it is larger", 9, 600, 10, true, 3 * size, size, nil},
		{"the last one even if it is larger", 597, 600, 10, true, 199 * size, size, nil},
		{"not the first one if it is larger", 9, 600, 999, false, 0, 0, nil},
		{"the first one if it fits", 9, 600, 1000, false, 3 * size, size, nil},
		{"nothing at the end", 600, 600, 1 << 20, true, 0, 0, nil},
		{"a bound behind the end", 597, 10_000, 1 << 20, true, 199 * size, size, nil},
		{"behind the end", 601, 700, 1, true, 0, 0, kerr.OffsetOutOfRange},
		{"before the start", -1, 700, 1, true, 0, 0, kerr.OffsetOutOfRange},
	} {
		r, err := v.Read(c.from, c.upTo, c.max, c.atLeastOne)
		if !errors.Is(err, c.err) || r.Len != c.len || r.Len > 0 && r.Pos != c.pos {
			t.Errorf("%s: %d bytes at %d, %v; want %d at %d", c.name, r.Len, r.Pos, err, c.len, c.pos)
		}
		if cached, err := r.Cached(); !cached || err != nil {
			t.Errorf("%s: what was just written is not cached, %v", c.name, err)
		}
		r.Release()
	}
}

// records makes a batch of so many bytes.
func records(t *testing.T, n, size int) batch.View {
	t.Helper()
	build := func(pad int) batch.View {
		b := batch.NewBuilder(batch.Options{})
		for i := range n {
			value := []byte("v")
			if i == 0 {
				value = make([]byte, pad)
			}
			b.Add(batch.Record{Timestamp: 1, Value: value})
		}
		v, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := build(size / 2)
	v = build(size/2 + size - len(v))
	if len(v) != size {
		t.Fatalf("%d bytes, want %d", len(v), size)
	}
	return v
}

func TestABatchThatDoesNotFitIsNotPassedOver(t *testing.T) {
	cfg := testConfig()
	cfg.SegmentBytes = 2000
	l, _, _ := newLogOnDisk(t, cfg)
	for range 4 { // two segments
		appendAll(t, l, StageOptions{}, sized(1000, -1))
	}
	for from := range model.Offset(4) {
		if r, err := l.View().Read(from, 4, 999, false); r.Len != 0 || err != nil {
			t.Errorf("from %d: %d bytes at %d of another segment, %v", from, r.Len, r.Pos, err)
		}
	}
}

func TestFilesOfOthersInTheDirectoryStay(t *testing.T) {
	l, env, dir := newLogOnDisk(t, testConfig())
	appendAll(t, l, StageOptions{}, at(1))
	l.Abandon()
	others := []string{"quorum-state", "quorum-state.tmp", "00000000000000000001-0000000001.checkpoint", "x.checkpoint.deleted"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Open(env, dir, testPartition, testConfig(), OpenParams{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestASequentialReaderFindsItsPlaceWithoutASearch(t *testing.T) {
	l, env, dir := newLogOnDisk(t, testConfig())
	for range 3000 {
		appendAll(t, l, StageOptions{}, sized(1000, -1))
	}
	finish(t, l)
	l, _, err := Open(env, dir, testPartition, testConfig(), OpenParams{Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	v := l.View()
	x := v.extent(0)
	for from := model.Offset(0); from < 3000; {
		if _, known := x.cursors.find(from); from > 0 && !known {
			t.Fatalf("the place of offset %d is not remembered", from)
		}
		r, err := v.Read(from, 3000, 64_000, true)
		if err != nil || r.Len == 0 || r.Len > 64_000 || r.Len < 64_000-4096-1000 && r.Pos+r.Len < 3_000_000 {
			t.Fatalf("from %d: %d bytes, %v", from, r.Len, err)
		}
		r.Release()
		from += model.Offset(r.Len / 1000)
	}
}

func TestTheViewOfALogIsMadeAnewOnlyWhenItChanged(t *testing.T) {
	l, _, _ := newLogOnDisk(t, testConfig())
	before := l.View()
	if l.View() != before {
		t.Error("an unchanged log has another view")
	}
	_, j, err := l.Stage(at(1), StageOptions{LeaderEpoch: 4})
	if err != nil {
		t.Fatal(err)
	}
	if v := l.View(); v.LogEnd != 0 || l.StagedEnd() != 1 {
		t.Errorf("what is staged is in the view: end %d", v.LogEnd)
	}
	l.Done(j, j.Run())
	v := l.View()
	if v.LogEnd != 1 || v.HighWatermark != 0 || v.LatestEpoch != 4 || v.TopicID != testTopic || before.LogEnd != 0 {
		t.Errorf("the view after the append: %+v", v)
	}
	l.SetHighWatermark(5)
	if v := l.View(); v.HighWatermark != 1 || v.LastStable != 1 {
		t.Errorf("the high watermark is bounded by the end: %+v", v)
	}
}
