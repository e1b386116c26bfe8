package partitionlog

import (
	"errors"
	"io"

	"troupe/internal/model"
)

// headers walks over the batches of a segment that begin in a stretch of its file; a batch begins at its start. Only
// headers are read, some of them many at a time.
func (ld *loader) headers(s *segment, start, end int64, visit func(*scanner, found) error) error {
	if start >= end {
		return nil
	}
	f, err := s.file.pin(useRead)
	if err != nil {
		return err
	}
	defer s.file.unpin()
	sc := newScanner(f, s.base, start, end)
	defer sc.close()
	for {
		b, err := sc.next(unchecked)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(sc, b)
		}
		if err != nil {
			return err
		}
	}
}

// What refill reads at most: a producer has no more than five batches in flight, which lie close to the end, while
// others may have been silent for long.
const (
	refillHeaders = 1000
	refillBytes   = 32 << 20
	refillWindow  = 64 << 10
)

// refill looks at the batches before the snapshot, the latest first, for those that a client may still repeat. Damage
// ends it: the snapshot knows how sequences go on, and a repeat that is not known is refused, not stored twice.
func (ld *loader) refill(before model.Offset) error {
	err := ld.refillFrom(before)
	if isCorrupt(err) {
		ld.damage(err)
		return nil
	}
	return err
}

func (ld *loader) refillFrom(before model.Offset) error {
	headers, bytes := refillHeaders, int64(refillBytes)
	for i := segmentAt(ld.segments, before-1); i >= 0 && !ld.producers.WindowsComplete(); i-- {
		s := ld.segments[i]
		end, err := ld.positionOf(s, before)
		if err != nil {
			return err
		}
		// Most producers are complete after the first window. It grows so that a few large batches cost few searches.
		for window := int64(refillWindow); end > 0; window *= 4 {
			if ld.producers.WindowsComplete() || headers <= 0 || bytes <= 0 {
				return nil
			}
			start, err := s.index.floorPos(max(0, end-window))
			if err != nil {
				return err
			}
			err = ld.headers(s, start, end, func(_ *scanner, b found) error {
				if b.view.LastOffset() >= before {
					return nil
				}
				headers--
				p, err := parseProducer(b.view)
				if err == nil && p.kind == producesData {
					ld.producers.Refill(p.batch)
				}
				return nil
			})
			if err != nil {
				return err
			}
			bytes -= end - start
			end = start
		}
	}
	return nil
}

// positionOf is where the first batch of a segment begins that ends at or after an offset; its size when none does.
func (ld *loader) positionOf(s *segment, o model.Offset) (pos int64, err error) {
	start, err := s.index.floorOffset(o)
	if err != nil {
		return 0, err
	}
	pos = s.size
	err = ld.headers(s, start, s.size, func(_ *scanner, b found) error {
		if b.view.LastOffset() < o {
			return nil
		}
		pos = b.pos
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return pos, err
}
