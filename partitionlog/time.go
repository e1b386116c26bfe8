package partitionlog

import (
	"errors"
	"io"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// TimeAt gives the time of the first record at or after an offset, in milliseconds since 1970, as far as the header of its
// batch says: that of the batch's first record, so that it is too early by what the batch spans at most. False when no batch
// before limit is left, or it has no timestamp. Errors as of Read.
func (v *View) TimeAt(o, limit model.Offset) (ms int64, ok bool, err error) {
	o, limit = max(o, v.LogStart), min(limit, v.LogEnd)
	// As in Read: compaction may have left the offset to the next segment.
	for i := max(0, segmentAt(v.segments, o)); o < limit && i < len(v.segments); i++ {
		x := v.extent(i)
		if x.size == 0 {
			continue
		}
		here := false
		err := x.withFile(func(f vfs.File) error {
			pos, err := v.locate(f, x, o)
			if err != nil {
				return err
			}
			// The record itself is not read: it might have to be decompressed, with all before it in the batch.
			s := newScanner(f, x.base, pos, x.size)
			defer s.close()
			b, err := s.next(unchecked)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				ms, here = timeOf(b.view), b.view.BaseOffset() < limit
			}
			return err
		})
		if err != nil || here {
			return ms, here && ms != batch.NoTimestamp, err
		}
	}
	return 0, false, nil
}

// TimeAtOnce is TimeAt where nothing has to be searched or read from a disk, which is so near the end of the log;
// elsewhere known is false.
func (v *View) TimeAtOnce(o, limit model.Offset) (ms int64, ok, known bool) {
	o, limit = max(o, v.LogStart), min(limit, v.LogEnd)
	if o >= limit {
		return 0, false, true
	}
	// Marks are of the last segment, and of its latest batches alone.
	x := v.extent(len(v.segments) - 1)
	if len(v.marks) == 0 || v.marks[0].offset > o {
		return 0, false, false
	}
	at := v.marks[floorMark(v.marks, func(m mark) bool { return m.offset <= o })]
	head := windows.Get().(*[]byte)
	defer windows.Put(head)
	err := x.withFile(func(f vfs.File) error {
		b := batch.View((*head)[:batch.HeaderSize])
		n, cached, err := f.ReadAtCached(b, at.pos)
		if err == nil && cached && n == len(b) && at.pos < x.size {
			ms, known = timeOf(b), true
		}
		return err
	})
	return ms, known && ms != batch.NoTimestamp, known && err == nil
}

// timeOf is the time that a batch's header gives its first record. Where the log's own time is what counts, or the place of
// the first one is taken by a delete horizon, the header has the greatest.
func timeOf(v batch.View) int64 {
	if v.LogAppendTime() || v.HasDeleteHorizon() {
		return v.MaxTimestamp()
	}
	return v.BaseTimestamp()
}
