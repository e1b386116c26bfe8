package coordinator

import (
	"container/heap"
	"time"
)

// Deadlines keeps one deadline a key. Moving one later, which each heartbeat does, costs a map access: the heap keeps
// the earlier time, finds out when it comes, and sorts the key in anew.
type Deadlines[K comparable] struct {
	wanted map[K]*Deadline
	queue  deadlineHeap[K]
	count  uint64
}

// Deadline is a key's, as long as it has one: whoever keeps it moves it later without a look at the map.
type Deadline struct {
	at time.Time
	// queued is the time under which the key stands in the heap; an entry with another time is void.
	queued time.Time
	order  uint64
	over   bool // cancelled or taken: a key that is set again has another one
}

// Postpone moves the deadline later. False means that it is over, or would come earlier: it has to be set anew.
func (w *Deadline) Postpone(at time.Time) bool {
	if w == nil || w.over || at.Before(w.queued) {
		return false
	}
	w.at = at
	return true
}

type deadlineEntry[K comparable] struct {
	at    time.Time
	order uint64 // of setting, so that equal times have one order
	key   K
	w     *Deadline // the key's: that the entry is void is seen without a look at the map
}

// NewDeadlines gives an empty set.
func NewDeadlines[K comparable]() *Deadlines[K] {
	return &Deadlines[K]{wanted: map[K]*Deadline{}}
}

// Set gives a key its only deadline.
func (d *Deadlines[K]) Set(k K, at time.Time) *Deadline {
	w := d.wanted[k]
	if w.Postpone(at) {
		return w
	}
	if w == nil {
		w = &Deadline{}
		d.wanted[k] = w
	}
	w.at = at
	d.push(k, w)
	return w
}

func (d *Deadlines[K]) push(k K, w *Deadline) {
	d.count++
	w.queued, w.order = w.at, d.count
	heap.Push(&d.queue, deadlineEntry[K]{w.at, w.order, k, w})
}

// Cancel takes a key's deadline away.
func (d *Deadlines[K]) Cancel(k K) {
	if w := d.wanted[k]; w != nil {
		w.over = true
		delete(d.wanted, k)
	}
}

// Pending tells whether a key has a deadline.
func (d *Deadlines[K]) Pending(k K) bool { return d.wanted[k] != nil }

// Next is a time before which no deadline comes; zero when there is none.
func (d *Deadlines[K]) Next() time.Time {
	for len(d.queue) > 0 {
		if e := &d.queue[0]; e.valid() {
			return e.at
		}
		heap.Pop(&d.queue)
	}
	return time.Time{}
}

// Take gives one key whose deadline has come, and forgets it.
func (d *Deadlines[K]) Take(now time.Time) (key K, ok bool) {
	for len(d.queue) > 0 {
		e := d.queue[0]
		if e.at.After(now) && e.valid() {
			return key, false
		}
		heap.Pop(&d.queue)
		if !e.valid() {
			continue
		}
		w := e.w
		if w.at.After(now) {
			d.push(e.key, w)
			continue
		}
		w.over = true
		delete(d.wanted, e.key)
		return e.key, true
	}
	return key, false
}

func (e *deadlineEntry[K]) valid() bool { return !e.w.over && e.w.order == e.order }

// deadlineHeap is ordered by time, then by the order of setting.
type deadlineHeap[K comparable] []deadlineEntry[K]

// Len, Less, Swap, Push and Pop are heap.Interface.
func (h deadlineHeap[K]) Len() int { return len(h) }

func (h deadlineHeap[K]) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].order < h[j].order
}

func (h deadlineHeap[K]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is part of heap.Interface.
func (h *deadlineHeap[K]) Push(x any) { *h = append(*h, x.(deadlineEntry[K])) }

// Pop is part of heap.Interface.
func (h *deadlineHeap[K]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = deadlineEntry[K]{}
	*h = (*h)[:last]
	return e
}
