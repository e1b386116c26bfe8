// Package timeline keeps state that is ahead of what is committed: it can be read as it was at the last commit, and
// taken back to it. A coordinator decides on the latest state, answers reads from the committed one, and goes back when
// what it wrote is not taken.
//
// A Timeline is one order of changes over any number of maps, which may hold maps in turn. Each change that is not
// committed keeps what it replaced:
//
//	offset    11        11        12        14
//	journal   [a: 1→2]  [b: +7]   [a: 2→3]  [c: -9]
//	          Commit(12) forgets the two at the front     Rollback(12) undoes the two at the end, the last one first
//
// Committed state costs nothing beyond the maps themselves.
package timeline

import (
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// Timeline orders the changes of its maps.
//
// Invariants:
//  1. the journal's offsets never fall (checked by At);
//  2. a change is journalled exactly while its offset is not committed, so that Committed sees through it;
//  3. a map's own list of changes has the journal's order.
type Timeline struct {
	journal   []change
	at        model.Offset
	committed model.Offset // the offset after the last committed one
}

type change struct {
	at model.Offset
	in changed
}

// changed is a map that has changes in the journal.
type changed interface {
	undo()   // takes the latest change back
	settle() // forgets what the oldest change replaced
}

// New begins with everything before next committed.
func New(next model.Offset) *Timeline { return &Timeline{at: next, committed: next} }

// At says which record's replay the coming changes belong to.
func (t *Timeline) At(o model.Offset) {
	invariant.Check(o >= t.at || len(t.journal) == 0, "timeline: offset %d comes after %d", o, t.at)
	t.at = o
}

// Next is the offset up to which, exclusively, everything is committed.
func (t *Timeline) Next() model.Offset { return t.committed }

// Commit makes the changes before next final.
func (t *Timeline) Commit(next model.Offset) {
	t.committed = max(t.committed, next)
	n := 0
	for n < len(t.journal) && t.journal[n].at < t.committed {
		t.journal[n].in.settle()
		t.journal[n] = change{}
		n++
	}
	if t.journal = t.journal[n:]; len(t.journal) == 0 {
		t.journal = nil // the array behind it would grow with every commit
	}
}

// Rollback takes the changes from an offset on back, the latest first. What is committed stays.
func (t *Timeline) Rollback(from model.Offset) {
	invariant.Check(from >= t.committed, "timeline: rollback to %d, but everything before %d is committed", from, t.committed)
	for n := len(t.journal); n > 0 && t.journal[n-1].at >= from; n-- {
		t.journal[n-1].in.undo()
		t.journal = t.journal[:n-1]
	}
	t.at = min(t.at, from)
}

// note enters a change, and tells whether what it replaces must be kept.
func (t *Timeline) note(in changed) bool {
	if t.at < t.committed {
		return false
	}
	t.journal = append(t.journal, change{t.at, in})
	return true
}
