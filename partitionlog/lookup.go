package partitionlog

import (
	"errors"
	"fmt"
	"io"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// OffsetForTime finds the first record at or after the log's start, and before limit, with a timestamp of at least
// timestampMs; false when there is none. In a batch that is compressed it finds the record too. Errors as of Read.
func (v *View) OffsetForTime(timestampMs int64, limit model.Offset) (Found, bool, error) {
	for i := max(0, segmentAt(v.segments, v.LogStart)); i < len(v.segments); i++ {
		x := v.extent(i)
		// The greatest timestamp may be of a batch that is staged and not in this view. Then nothing is found below.
		if x.size == 0 || x.index.greatest().timestampMs < timestampMs {
			continue
		}
		r, ok, err := v.firstAfter(x, timestampMs)
		if err != nil || ok {
			return r, ok && r.Offset < limit, err
		}
	}
	return Found{}, false, nil
}

// MaxTimestamp finds the record with the greatest timestamp of the log, the first of several; false when it is not
// before limit, or no record has a timestamp.
func (v *View) MaxTimestamp(limit model.Offset) (Found, bool, error) {
	best, at := timedMax{noTime, model.NoOffset}, -1
	for i := max(0, segmentAt(v.segments, v.LogStart)); i < len(v.segments); i++ {
		if greatest := v.segments[i].index.greatest(); greatest.timestampMs > best.timestampMs {
			best, at = greatest, i
		}
	}
	if at < 0 {
		return Found{}, false, nil
	}
	x := v.extent(at)
	var r Found
	var ok bool
	err := x.withFile(func(f vfs.File) error {
		pos, err := v.locate(f, x, best.offset)
		if err != nil || pos >= x.size {
			return err // appended after this view was made
		}
		s := newScanner(f, x.base, pos, x.size)
		defer s.close()
		b, err := s.next(unchecked)
		if err != nil {
			return err
		}
		r, ok, err = firstRecord(s, b, best.timestampMs, v.LogStart)
		return err
	})
	return r, ok && r.Offset < limit, err
}

// firstAfter looks through one segment, from where its time index points to: at the last entry that is not later than the
// timestamp every batch before is older, so at most index.interval.bytes and a batch are walked over in vain.
func (v *View) firstAfter(x extent, timestampMs int64) (r Found, ok bool, err error) {
	err = x.withFile(func(f vfs.File) error {
		o, err := x.index.floorTime(timestampMs)
		if err != nil {
			return err
		}
		pos, err := v.locate(f, x, max(o, v.LogStart))
		if err != nil {
			return err
		}
		s := newScanner(f, x.base, pos, x.size)
		defer s.close()
		for !ok {
			b, err := s.next(unchecked)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			// Only the batch that has the record is read whole, and decompressed.
			if b.view.MaxTimestamp() >= timestampMs {
				if r, ok, err = firstRecord(s, b, timestampMs, v.LogStart); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return r, ok, err
}

func (x extent) withFile(work func(vfs.File) error) error {
	f, err := x.file.pin(useRead)
	if err != nil {
		return err
	}
	defer x.file.unpin()
	return work(f)
}

// errEnough ends a walk over records.
var errEnough = errors.New("the record is found")

// firstRecord looks for the record in a batch that has one, reading the batch whole.
func firstRecord(s *scanner, b found, timestampMs int64, from model.Offset) (r Found, ok bool, err error) {
	whole, err := s.whole(b)
	if err != nil {
		return Found{}, false, s.unreadable(err)
	}
	err = whole.Each(func(rec batch.Record) error {
		if rec.Timestamp < timestampMs || rec.Offset < from {
			return nil
		}
		r, ok = Found{Offset: rec.Offset, TimestampMs: rec.Timestamp, LeaderEpoch: whole.LeaderEpoch()}, true
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Found{}, false, &CorruptionError{File: s.file.Name(), Pos: b.pos, Offset: whole.BaseOffset(),
			Reason: fmt.Sprintf("its records cannot be read: %v", err), Err: err}
	}
	return r, ok, nil
}

// Aborted lists the aborted transactions with records in [from, to), in the order of their markers; nil when there
// are none. Errors as of Read.
func (v *View) Aborted(from, to model.Offset) ([]AbortedTxn, error) {
	var out []AbortedTxn
	for i := max(0, segmentAt(v.segments, from)); i < len(v.segments); i++ {
		s := v.segments[i]
		if !s.aborted.Load() {
			continue
		}
		complete, err := s.abortedIn(from, to, &out)
		if err != nil || complete {
			return out, err
		}
	}
	return out, nil
}
