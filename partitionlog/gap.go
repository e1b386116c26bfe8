package partitionlog

import (
	"errors"
	"fmt"
	"io"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// A segment ends where the next one begins, but for what compaction removed. One that somebody emptied or deleted while
// the broker was down leaves a gap:
//
//	files     0.log        500.log       1500.log
//	records   [0, 500)     [500, 1000)            [1500, …
//	                                  gap: 1000.log is missing
//
// Nothing can be done about it but to say so. Readers get the first records behind the gap, as Kafka's do.

// checkEnd looks where a segment ends that is taken unread: at the last batch that its index knows, or at one of the few
// behind it, which are read for it. Logs of large batches have an entry for each and are not opened.
func (ld *loader) checkEnd(s *segment, next model.Offset) error {
	end := ld.tail.offset + 1
	if end >= next || ld.cleaned(next) {
		return nil
	}
	if s.size > 0 {
		f, err := s.file.pin(useRead)
		if err != nil {
			return err
		}
		defer s.file.unpin()
		sc := newScanner(f, s.base, ld.tail.pos, s.size)
		defer sc.close()
		for {
			b, err := sc.next(unchecked)
			if errors.Is(err, io.EOF) {
				break
			}
			if isCorrupt(err) || errors.Is(err, batch.ErrOldMagic) {
				ld.damage(err)
				return nil
			}
			if err != nil {
				return err
			}
			end = b.view.LastOffset() + 1
		}
	}
	return ld.checkGap(s, end, next)
}

// cleaned tells that a gap before an offset may be a cleaner's.
func (ld *loader) cleaned(next model.Offset) bool { return ld.cfg.Compact || next <= ld.params.Cleaned }

// checkGap notes records that no file holds, between the end of a segment and the next one. Of a log that must be whole
// it is an error.
func (ld *loader) checkGap(s *segment, end, next model.Offset) error {
	if end >= next || ld.cleaned(next) {
		return nil
	}
	reason := fmt.Sprintf("records %d to %d are in no file: a segment between it and %s is missing, or its end was cut off",
		end, next-1, fileID{offset: next, suffix: suffixLog})
	if s.size == 0 {
		reason = fmt.Sprintf("it is empty, and records %d to %d with it", end, next-1)
	}
	gap := &CorruptionError{File: s.file.id.String(), Pos: s.size, Offset: end, Reason: reason}
	ld.damage(gap)
	if end < ld.params.Required {
		return gap
	}
	return nil
}
