package partitionlog

import (
	"errors"
	"io"
	"sort"

	"troupe/codec/batch"
	"troupe/internal/vfs"
)

// cut finds the last batch that begins within maxBytes of pos, to end the region before it, and remembers the place for
// the reader's next turn.
func (v *View) cut(f vfs.File, x extent, pos, end, maxBytes int64, atLeastOne bool) (int64, error) {
	// Kafka cuts in the midst of a batch, and its clients throw the part away. Whole batches cost a search here, which the
	// reader's next turn then does without.
	limit := pos + maxBytes
	if x.last && len(v.marks) > 0 && v.marks[0].pos <= limit {
		if at := v.marks[floorMark(v.marks, func(m mark) bool { return m.pos <= limit })].pos; at > pos {
			return at, nil
		}
	} else if at, err := x.index.floorPos(limit); err != nil {
		return 0, err
	} else if at > pos && at < end {
		return at, x.rememberBatchAt(f, at)
	}
	// The limit lies within the first batches after the last that the index knows: their headers tell.
	s := newScanner(f, x.base, pos, end)
	defer s.close()
	cut := pos
	for {
		b, err := s.next(unchecked)
		switch {
		case errors.Is(err, io.EOF):
			return cut, nil
		case err != nil:
			return 0, err
		case b.end() > limit && !(cut == pos && atLeastOne):
			x.cursors.remember(mark{b.view.BaseOffset(), b.pos})
			return cut, nil
		}
		cut = b.end()
		if cut >= limit {
			x.cursors.remember(mark{b.view.NextOffset(), cut})
			return cut, nil
		}
	}
}

func (x extent) rememberBatchAt(f vfs.File, pos int64) error {
	var head [batch.HeaderSize]byte
	if err := readFull(f, head[:], pos); err != nil {
		return err
	}
	x.cursors.remember(mark{batch.View(head[:]).BaseOffset(), pos})
	return nil
}

// floorMark is the last mark that holds; the first one must.
func floorMark(marks []mark, holds func(mark) bool) int {
	// Most readers are at the end.
	for i := len(marks) - 1; i >= max(0, len(marks)-4); i-- {
		if holds(marks[i]) {
			return i
		}
	}
	return sort.Search(len(marks), func(i int) bool { return !holds(marks[i]) }) - 1
}
