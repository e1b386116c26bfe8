// Package compact decides what a cleaner does with a log (facts/storage-format.md 9, KIP-58, KIP-354, KIP-534): whether
// it is dirty enough, which segments become one, and which records stay. It reads no files and no clock; partitionlog
// does what is decided here.
package compact

import (
	"math"

	"troupe/internal/model"
)

// Policy is what a topic's configuration says of compaction. Times are in milliseconds.
type Policy struct {
	MinRatio          float64 // min.cleanable.dirty.ratio
	MinLagMs          int64   // min.compaction.lag.ms
	MaxLagMs          int64   // max.compaction.lag.ms; math.MaxInt64 for never
	DeleteRetentionMs int64   // delete.retention.ms
	SegmentBytes      int64   // segment.bytes
	IndexBytes        int64   // segment.index.bytes
}

// Segment is one file of a log.
type Segment struct {
	Base model.Offset
	// NewestMs is the greatest timestamp, or the time of the last write when no record has one.
	NewestMs              int64
	Bytes                 int64
	IndexBytes, TimeBytes int64 // of its two indexes
}

// Log is a log as a cleaner finds it.
type Log struct {
	Segments []Segment // rising; the last one is active
	Start    model.Offset
	End      model.Offset
	// Settled is the offset before which every transaction is decided, every record is committed, and all files are
	// synced: nothing there can be taken back.
	Settled model.Offset
	// Cleaned is the checkpoint: the first offset that was not cleaned; NoOffset for none.
	Cleaned model.Offset
}

// Range is what could be cleaned of a log.
//
// Invariant: Dirty <= End, which is the base of a segment at or before the active one unless nothing can be cleaned.
type Range struct {
	Dirty model.Offset // the first offset that was not cleaned
	End   model.Offset // the first offset that must not be
	// CleanBytes are of segments that begin before Dirty, DirtyBytes of those from there to End.
	CleanBytes, DirtyBytes int64
	// Reset tells that the checkpoint does not fit the log, which is taken for dirty from its start.
	Reset bool
}

// Measure finds what may be cleaned: not the active segment, nothing that is not settled, nothing younger than
// min.compaction.lag.ms.
func Measure(l Log, p Policy, nowMs int64) Range {
	r := Range{Dirty: l.Cleaned}
	if r.Dirty < l.Start || r.Dirty > l.End {
		// Below the start it was overtaken by retention, which is no damage.
		r.Dirty, r.Reset = l.Start, l.Cleaned != model.NoOffset
	}
	r.End = r.Dirty
	if len(l.Segments) == 0 {
		return r
	}
	active := len(l.Segments) - 1
	first := at(l.Segments, r.Dirty)
	last := min(at(l.Segments, l.Settled), active)
	if p.MinLagMs > 0 {
		for i := first; i < last; i++ {
			if l.Segments[i].NewestMs > nowMs-p.MinLagMs {
				last = i
			}
		}
	}
	for _, s := range l.Segments {
		if s.Base < r.Dirty {
			r.CleanBytes += s.Bytes
		}
	}
	for i := first; i < last; i++ {
		r.DirtyBytes += l.Segments[i].Bytes
	}
	r.End = max(r.Dirty, l.Segments[last].Base)
	return r
}

// at is the segment that holds an offset, the first one for offsets before it.
func at(segments []Segment, o model.Offset) int {
	i := len(segments) - 1
	for i > 0 && segments[i].Base > o {
		i--
	}
	return i
}

// Ratio is the share of dirty bytes.
func (r Range) Ratio() float64 {
	if r.CleanBytes+r.DirtyBytes == 0 {
		return 0
	}
	return float64(r.DirtyBytes) / float64(r.CleanBytes+r.DirtyBytes)
}

// Due tells whether the log is to be cleaned. Overdue is what Overdue said, and outweighs the ratio.
func (r Range) Due(p Policy, overdue bool) bool {
	return r.DirtyBytes > 0 && r.End > r.Dirty && (overdue || r.Ratio() > p.MinRatio)
}

// Limited tells whether max.compaction.lag.ms can force a cleaning, so that the age of segments has to be known.
func (p Policy) Limited() bool { return p.MaxLagMs != math.MaxInt64 }

// Overdue tells whether dirty records have waited longer than max.compaction.lag.ms. firstMs are the timestamps of the
// first batches of the segments from Dirty on, but for the active one; segments whose first batch has none do not count.
func Overdue(firstMs []int64, p Policy, nowMs int64) bool {
	for _, t := range firstMs {
		if t > 0 && t < nowMs-p.MaxLagMs {
			return true
		}
	}
	return false
}
