package partitionlog

import (
	"fmt"

	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// Release ends the use of the region's file.
func (r Region) Release() {
	if r.slot != nil {
		r.slot.unpin()
	}
}

// probeStep is how far apart Cached looks. The kernel reads ahead and writes in about such steps; each look costs as much
// as sending 16 KiB.
const probeStep = 256 << 10

// pageSize is the least that is in the page cache or not.
const pageSize = 4 << 10

// Cached tells whether the bytes seem to be in the page cache: the first, the last, and one in each step between.
func (r Region) Cached() (bool, error) {
	var probe [1]byte
	for at := r.Pos; at < r.Pos+r.Len; at += probeStep {
		if _, cached, err := r.File.ReadAtCached(probe[:], at); err != nil || !cached {
			return false, err
		}
	}
	if last := r.Pos + r.Len - 1; r.Len == 0 || last/pageSize == r.Pos/pageSize {
		return true, nil
	}
	_, cached, err := r.File.ReadAtCached(probe[:], r.Pos+r.Len-1)
	return cached, err
}

// Read gives whole batches of one segment, from the one that holds from (the next one, when compaction removed it) to
// the last that ends before upTo, and at most maxBytes. A first batch larger than that is given whole when atLeastOne is set
// (KIP-74), and else nothing. The zero Region says that there is nothing to read now.
//
// A reader that goes on where the last region ended costs no search; others cost a few small reads. Errors:
// OFFSET_OUT_OF_RANGE outside LogStart..LogEnd, ErrStale, *CorruptionError, vfs.ErrNoDescriptor, and the disk's.
func (v *View) Read(from, upTo model.Offset, maxBytes int, atLeastOne bool) (Region, error) {
	if from < v.LogStart || from > v.LogEnd {
		return Region{}, &kerr.Error{Code: kerr.OffsetOutOfRange, Detail: fmt.Sprintf(
			"offset %d is not between the log's start %d and end %d", from, v.LogStart, v.LogEnd)}
	}
	upTo = min(upTo, v.LogEnd)
	// Compaction may have removed the end of a segment, so that the offset is found in the next one.
	for i := max(0, segmentAt(v.segments, from)); from < upTo && i < len(v.segments); i++ {
		r, here, err := v.readExtent(v.extent(i), from, upTo, int64(maxBytes), atLeastOne)
		if err != nil || here {
			return r, err
		}
	}
	return Region{}, nil
}

// readExtent tells by here whether the segment has a batch that ends at or after from: then what is not given because it
// does not fit, or is not before upTo, must not be passed over.
func (v *View) readExtent(x extent, from, upTo model.Offset, maxBytes int64, atLeastOne bool) (r Region, here bool, err error) {
	if x.size == 0 {
		return Region{}, false, nil
	}
	f, err := x.file.pin(useRead)
	if err != nil {
		return Region{}, false, err
	}
	r = Region{File: f, slot: x.file}
	err = v.bound(&r, x, from, upTo, maxBytes, atLeastOne)
	here = r.Pos < x.size
	if err != nil || r.Len == 0 {
		r.Release()
		r = Region{}
	}
	return r, here, err
}

// bound finds where the region begins and ends.
func (v *View) bound(r *Region, x extent, from, upTo model.Offset, maxBytes int64, atLeastOne bool) (err error) {
	if r.Pos, err = v.locate(r.File, x, from); err != nil {
		return err
	}
	end := x.size
	if upTo < x.end {
		// Whole batches before upTo: all of them end before the batch that holds it begins.
		if end, err = v.locate(r.File, x, upTo); err != nil {
			return err
		}
	}
	if end-r.Pos > maxBytes {
		if end, err = v.cut(r.File, x, r.Pos, end, maxBytes, atLeastOne); err != nil {
			return err
		}
	}
	r.Len = max(0, end-r.Pos)
	return nil
}

// locate finds where the first batch begins that ends at or after an offset; the size of the segment when none does.
func (v *View) locate(f vfs.File, x extent, o model.Offset) (int64, error) {
	switch {
	case o <= x.base:
		return 0, nil
	case o >= x.end:
		return x.size, nil
	}
	// At the end every batch has its mark: consumers that keep up, the high watermark and replicas are found here.
	if x.last && len(v.marks) > 0 && v.marks[0].offset <= o {
		return v.marks[floorMark(v.marks, func(m mark) bool { return m.offset <= o })].pos, nil
	}
	if pos, ok := x.cursors.find(o); ok && pos <= x.size {
		return pos, nil
	}
	pos, err := x.index.floorOffset(o)
	if err != nil {
		return 0, err
	}
	b, err := x.scanTo(f, pos, o)
	return b.pos, err
}

// scanTo looks for the first batch that ends at or after an offset, from a position where one begins.
func (x extent) scanTo(f vfs.File, pos int64, o model.Offset) (found, error) {
	s := newScanner(f, x.base, min(pos, x.size), x.size)
	defer s.close()
	b, err := s.scanTo(o)
	b.view = nil // it lies in the scanner's buffer
	return b, err
}
