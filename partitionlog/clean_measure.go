package partitionlog

import (
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/compact"
)

// Cleanable is what a cleaner could do with a log now.
type Cleanable struct {
	compact.Range
	// Due: the log is dirty enough, or dirty for too long.
	Due bool
}

// Cleanable measures the dirty part of a compacted log; cleaned is the first offset that was not cleaned, NoOffset when
// it never was. Where max.compaction.lag.ms is set it may read the first bytes of each dirty segment, once in its life.
func (v *View) Cleanable(cfg Config, cleaned model.Offset, nowMs int64) (Cleanable, error) {
	policy := cfg.compaction()
	r := compact.Measure(v.layout(cleaned), policy, nowMs)
	overdue := false
	if policy.Limited() && r.DirtyBytes > 0 {
		first, err := v.firstTimes(r.Dirty)
		if err != nil {
			return Cleanable{}, err
		}
		overdue = compact.Overdue(first, policy, nowMs)
	}
	return Cleanable{r, r.Due(policy, overdue)}, nil
}

// layout describes the log to the machine.
func (v *View) layout(cleaned model.Offset) compact.Log {
	l := compact.Log{Start: v.LogStart, End: v.LogEnd, Settled: min(v.LastStable, v.settled), Cleaned: cleaned}
	for i, s := range v.segments {
		x := compact.Segment{Base: s.base, Bytes: v.size} // of the last one, whose owner goes on
		if i < len(v.segments)-1 {
			x.Bytes, x.NewestMs = s.size, s.newestMs()
			x.IndexBytes, x.TimeBytes = s.index.sizes()
		}
		l.Segments = append(l.Segments, x)
	}
	return l
}

// sizes are the bytes of the two index files.
func (x *segIndex) sizes() (offsets, times int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return int64(x.offsets.count() * offsetEntrySize), int64(x.times.count() * timeEntrySize)
}

// firstTimes gives the timestamps of the first batches of the segments from an offset on, without the active one.
func (v *View) firstTimes(from model.Offset) (times []int64, err error) {
	for i := max(0, segmentAt(v.segments, from)); i < len(v.segments)-1; i++ {
		s := v.segments[i]
		t := s.firstMs.Load()
		if t == 0 && s.size > 0 {
			var head [batch.HeaderSize]byte
			err := v.extent(i).withFile(func(f vfs.File) error { return readFull(f, head[:], 0) })
			if err != nil {
				return nil, err
			}
			t = batch.View(head[:]).MaxTimestamp()
			s.firstMs.Store(t)
		}
		times = append(times, t)
	}
	return times, nil
}
