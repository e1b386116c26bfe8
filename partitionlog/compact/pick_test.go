package compact

import (
	"math"
	"slices"
	"testing"

	"troupe/internal/model"
)

// hundreds is a log of segments of 100 offsets and 100 bytes each, the last one active; segment i was written at i*1000.
func hundreds(n int) Log {
	l := Log{End: model.Offset(n*100 - 50), Settled: model.Offset(n*100 - 50), Cleaned: model.NoOffset}
	for i := range n {
		l.Segments = append(l.Segments, Segment{Base: model.Offset(i * 100), Bytes: 100, NewestMs: int64(i * 1000)})
	}
	return l
}

func TestWhatMayBeCleanedOfALog(t *testing.T) {
	const now = 10_000
	for _, c := range []struct {
		title string
		log   func(*Log)
		lag   int64
		want  Range
	}{
		{"all but the active segment", func(*Log) {}, 0, Range{Dirty: 0, End: 300, DirtyBytes: 300}},
		{"what was cleaned is clean", func(l *Log) { l.Cleaned = 200 }, 0, Range{Dirty: 200, End: 300, CleanBytes: 200, DirtyBytes: 100}},
		{"a checkpoint within a segment counts it to both", func(l *Log) { l.Cleaned = 150 }, 0,
			Range{Dirty: 150, End: 300, CleanBytes: 200, DirtyBytes: 200}},
		{"nothing behind an open transaction", func(l *Log) { l.Settled = 150 }, 0, Range{Dirty: 0, End: 100, DirtyBytes: 100}},
		{"an open transaction at the base of a segment", func(l *Log) { l.Settled = 200 }, 0, Range{Dirty: 0, End: 200, DirtyBytes: 200}},
		{"nothing is settled", func(l *Log) { l.Settled = 0 }, 0, Range{}},
		{"clean to the active segment", func(l *Log) { l.Cleaned = 300 }, 0, Range{Dirty: 300, End: 300, CleanBytes: 300}},
		{"young segments wait", func(*Log) {}, 9000, Range{Dirty: 0, End: 200, DirtyBytes: 200}},
		{"a clean segment that is young does not matter", func(l *Log) { l.Cleaned = 100; l.Segments[0].NewestMs = now }, 9000,
			Range{Dirty: 100, End: 200, CleanBytes: 100, DirtyBytes: 100}},
		{"the checkpoint lies before the log's start", func(l *Log) { l.Start, l.Cleaned, l.Segments = 100, 50, l.Segments[1:] }, 0,
			Range{Dirty: 100, End: 300, DirtyBytes: 200, Reset: true}},
		{"the checkpoint lies beyond the log's end", func(l *Log) { l.Cleaned = 5000 }, 0, Range{Dirty: 0, End: 300, DirtyBytes: 300, Reset: true}},
		{"a log without segments", func(l *Log) { *l = Log{Cleaned: model.NoOffset} }, 0, Range{}},
	} {
		l := hundreds(4)
		c.log(&l)
		if got := Measure(l, Policy{MinLagMs: c.lag}, now); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.title, got, c.want)
		}
	}
}

func TestWhenALogIsCleaned(t *testing.T) {
	for _, c := range []struct {
		title   string
		r       Range
		ratio   float64
		overdue bool
		want    bool
	}{
		{"more dirty than asked", Range{End: 10, CleanBytes: 49, DirtyBytes: 51}, 0.5, false, true},
		{"just as dirty as asked", Range{End: 10, CleanBytes: 50, DirtyBytes: 50}, 0.5, false, false},
		{"overdue", Range{End: 10, CleanBytes: 99, DirtyBytes: 1}, 0.5, true, true},
		{"overdue, and nothing may be cleaned", Range{CleanBytes: 100}, 0.5, true, false},
		{"empty", Range{}, 0, false, false},
		{"everything is dirty and the ratio is 1", Range{End: 10, DirtyBytes: 10}, 1, false, false},
	} {
		if got := c.r.Due(Policy{MinRatio: c.ratio}, c.overdue); got != c.want {
			t.Errorf("%s: %v", c.title, got)
		}
	}
}

func TestDirtyRecordsAreOverdueByTheFirstBatchOfTheirSegment(t *testing.T) {
	p := Policy{MaxLagMs: 1000}
	for _, c := range []struct {
		title string
		first []int64
		want  bool
	}{
		{"none", nil, false},
		{"as old as allowed", []int64{4000}, false},
		{"older", []int64{4500, 3999}, true},
		{"without a timestamp", []int64{-1, 0}, false},
	} {
		if got := Overdue(c.first, p, 5000); got != c.want {
			t.Errorf("%s: %v", c.title, got)
		}
	}
	if (Policy{MaxLagMs: math.MaxInt64}).Limited() || !p.Limited() {
		t.Error("the greatest lag is none")
	}
}

func TestNeighboursThatFitOneSegmentAreGrouped(t *testing.T) {
	p := Policy{SegmentBytes: 100, IndexBytes: 80}
	wide := model.Offset(math.MaxInt32) + 1
	for _, c := range []struct {
		title    string
		segments []Segment
		end      model.Offset
		want     []int
	}{
		{"by bytes", []Segment{{0, 0, 60, 0, 0}, {10, 0, 40, 0, 0}, {20, 0, 1, 0, 0}}, 30, []int{2, 1}},
		{"one larger than the size", []Segment{{0, 0, 160, 0, 0}, {10, 0, 40, 0, 0}}, 30, []int{1, 1}},
		{"by the offset index", []Segment{{0, 0, 10, 48, 0}, {10, 0, 10, 40, 0}}, 30, []int{1, 1}},
		{"by the time index", []Segment{{0, 0, 10, 0, 48}, {10, 0, 10, 0, 32}, {20, 0, 10, 0, 12}}, 30, []int{2, 1}},
		{"by offsets: the last one fits", []Segment{{0, 0, 10, 0, 0}, {10, 0, 10, 0, 0}}, wide, []int{2}},
		{"by offsets: it does not", []Segment{{0, 0, 10, 0, 0}, {10, 0, 10, 0, 0}}, wide + 1, []int{1, 1}},
		{"an empty one has no entries", []Segment{{0, 0, 10, 0, 0}, {10, 0, 0, 0, 0}}, wide + 1, []int{2}},
		{"none", nil, 0, nil},
	} {
		if got := Group(c.segments, c.end, p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.title, got, c.want)
		}
	}
}
