package replica

import (
	"slices"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Deletion is a DeleteRecords that is done here and waits for the followers: until then a new leader could bring the records
// back into view.
type Deletion struct {
	UpTo     model.Offset
	Deadline time.Time
	Done     func(low model.Offset, code kerr.Code)
}

// Deleted is a Deletion that is over.
type Deleted struct {
	Deletion
	Low  model.Offset // the low watermark; -1 beside an error but that of a wait that was too long
	Code kerr.Code
}

// LowWatermark is the least log start of this log, which begins at start, and of the followers that live. One that is fenced
// is not waited for: it takes the log start over before it may lead.
func (m *Machine) LowWatermark(start model.Offset) model.Offset {
	low := start
	for i := range m.followers {
		if f := &m.followers[i]; f.logStart < low && m.eligible(f.id, -1) {
			low = f.logStart
		}
	}
	return low
}

// AwaitDeletion has a deletion answered when the low watermark has come to it. This log begins at start, whatever becomes of
// the process.
func (m *Machine) AwaitDeletion(d Deletion, start model.Offset, now time.Time) Effects {
	m.logStart = start
	m.deletions = append(m.deletions, d)
	return Effects{HighWatermark: model.NoOffset, Deleted: m.deleted(now)}
}

// StartNoted says where this log begins for good by now.
func (m *Machine) StartNoted(start model.Offset, now time.Time) Effects {
	m.logStart = start
	return Effects{HighWatermark: model.NoOffset, Deleted: m.deleted(now)}
}

// deleted takes out the deletions that are over.
func (m *Machine) deleted(now time.Time) (over []Deleted) {
	if len(m.deletions) == 0 {
		return nil
	}
	low := m.LowWatermark(m.logStart)
	m.deletions = slices.DeleteFunc(m.deletions, func(d Deletion) bool {
		switch {
		case low >= d.UpTo:
			over = append(over, Deleted{d, low, kerr.None})
		case !now.Before(d.Deadline):
			over = append(over, Deleted{d, low, kerr.RequestTimedOut})
		default:
			return false
		}
		return true
	})
	return over
}

// abandonDeletions answers those that wait when this replica leads no more.
func (m *Machine) abandonDeletions() (over []Deleted) {
	for _, d := range m.deletions {
		over = append(over, Deleted{d, model.NoOffset, kerr.NotLeaderOrFollower})
	}
	m.deletions = nil
	return over
}
