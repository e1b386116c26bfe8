package partitionlog

import (
	"sync/atomic"

	"troupe/internal/model"
)

// segment is one file of batches with its indexes. Its fields are the owner's, but for what is safe for everybody:
// base, file and index, and size once the segment is not the last.
//
// Invariants:
//  1. Offsets in the file rise and are at least base; they are less than the base of the next segment.
//  2. size is the end of what is staged, so the next batch begins there. What views may read of the last segment is
//     in the view.
//  3. saved is never true of the segment that grows.
type segment struct {
	base  model.Offset
	file  *slot
	index *segIndex
	// size is what has been staged, in bytes; appends up to it may still be on their way.
	size int64
	// aborted tells that there is a transaction index.
	aborted atomic.Bool
	cursors cursors

	roll     rollState
	txnIndex txnAppender
	// firstMs is the timestamp of the first batch of a sealed segment, 0 until somebody asked for it.
	firstMs atomic.Int64
	// written is false until the first append is done: the file may not be there yet.
	written bool
	// saved is set once the segment is sealed and synced with its indexes.
	saved bool

	// lane is the last of the appends that one RunAppends joins; only the append lane of the log touches it.
	lane *Job
}

// rollState is what decides on the next roll. It is kept for the active segment; a sealed one needs modifiedMs only.
type rollState struct {
	firstMs    int64 // greatest timestamp of the first batch, noTime when it has none
	unread     bool  // firstMs is still to be read: see learnAge
	createdMs  int64 // by the wall clock
	modifiedMs int64 // the last append's, by the wall clock
	sinceEntry int64 // bytes since the last index entry
	jitterMs   int64
}

func newSegment(env *Env, dir *directory, base model.Offset) *segment {
	s := &segment{base: base, file: newSlot(env.Files, dir, fileID{offset: base, suffix: suffixLog})}
	s.index = newSegIndex(env, s.file, base)
	s.roll.firstMs = noTime
	return s
}

// segmentAt is the index of the segment that holds an offset: the last that begins at or before it, -1 for none. It is
// asked by every fetch, so it is written out.
func segmentAt(segments []*segment, o model.Offset) int {
	lo, hi := 0, len(segments)
	// Most readers are at the end.
	if hi > 0 && segments[hi-1].base <= o {
		return hi - 1
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if segments[mid].base <= o {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}
