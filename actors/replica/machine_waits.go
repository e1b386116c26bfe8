package replica

import (
	"cmp"
	"slices"
	"time"

	"troupe/internal/model"
)

// waitQueue holds waits by rising Next; equal ones keep their order of arrival.
type waitQueue struct {
	waits []Wait
}

func (q *waitQueue) add(w Wait) {
	at := len(q.waits)
	// Appends arrive in offset order; only a duplicate of an older batch belongs further in front.
	for at > 0 && q.waits[at-1].Next > w.Next {
		at--
	}
	q.waits = slices.Insert(q.waits, at, w)
}

// written notes when the waits were written that end behind from, at to the latest.
func (q *waitQueue) written(from, to model.Offset, now time.Time) {
	at, _ := slices.BinarySearchFunc(q.waits, from+1, func(w Wait, o model.Offset) int { return cmp.Compare(w.Next, o) })
	for ; at < len(q.waits) && q.waits[at].Next <= to; at++ {
		q.waits[at].Written = now
	}
}

// takeUpTo moves the waits that end at or before the offset to dst.
func (q *waitQueue) takeUpTo(end model.Offset, dst []Wait) []Wait {
	n := 0
	for n < len(q.waits) && q.waits[n].Next <= end {
		n++
	}
	if n == 0 {
		return dst
	}
	dst = append(dst, q.waits[:n]...)
	q.waits = slices.Delete(q.waits, 0, n)
	return dst
}

func (q *waitQueue) takeAll() []Wait {
	all := q.waits
	q.waits = nil
	return all
}

// takeImpatient moves the waits that are not to last as long as the leadership.
func (q *waitQueue) takeImpatient() []Wait {
	return q.take(func(w Wait) bool { return !w.Patient })
}

// takeDue walks over all waits: deadlines are the clients' and rise with nothing. It is called when the earliest is due.
func (q *waitQueue) takeDue(now time.Time) []Wait {
	return q.take(func(w Wait) bool { return !w.Deadline.After(now) })
}

func (q *waitQueue) take(which func(Wait) bool) []Wait {
	var taken []Wait
	q.waits = slices.DeleteFunc(q.waits, func(w Wait) bool {
		if !which(w) {
			return false
		}
		taken = append(taken, w)
		return true
	})
	return taken
}

// nextDeadline walks likewise; it is asked when the timer is set anew, once a batch of messages at the most.
func (q *waitQueue) nextDeadline() (time.Time, bool) {
	if len(q.waits) == 0 {
		return time.Time{}, false
	}
	first := q.waits[0].Deadline
	for _, w := range q.waits[1:] {
		if w.Deadline.Before(first) {
			first = w.Deadline
		}
	}
	return first, true
}
