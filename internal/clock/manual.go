package clock

import (
	"container/heap"
	"sync"
	"time"
)

// Manual is a Clock that stands still until Advance moves it. It is safe for concurrent use.
type Manual struct {
	mu    sync.Mutex
	now   time.Time
	seq   uint64
	calls callHeap
}

// NewManual starts at now.
func NewManual(now time.Time) *Manual { return &Manual{now: now} }

// Now is the time last set.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// AfterFunc calls f from the Advance that passes now+d; equal times run in the order they were asked for.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &call{clock: m, at: m.now.Add(max(d, 0)), seq: m.seq, f: f}
	m.seq++
	heap.Push(&m.calls, c)
	return c
}

// Advance moves the time by d, running what falls due, each call at its own time.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	end := m.now.Add(d)
	for len(m.calls) > 0 && !m.calls[0].at.After(end) {
		c := heap.Pop(&m.calls).(*call)
		m.now = c.at
		m.mu.Unlock()
		c.f()
		m.mu.Lock()
	}
	m.now = end
	m.mu.Unlock()
}

// Next gives the time of the earliest pending call.
func (m *Manual) Next() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.calls) == 0 {
		return time.Time{}, false
	}
	return m.calls[0].at, true
}

// Step sets the wall clock to now, backwards too, without running anything: what an operator's `date -s` does. Calls stay
// as far away as they were, since real timers run on the monotonic clock.
func (m *Manual) Step(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	shift := now.Sub(m.now)
	m.now = now
	for _, c := range m.calls {
		c.at = c.at.Add(shift)
	}
}

// call is a pending AfterFunc; index is its place in the heap, -1 once it has run or was stopped.
type call struct {
	clock *Manual
	at    time.Time
	seq   uint64
	index int
	f     func()
}

// Stop tells, as time.Timer's does, whether the call was still to come.
func (c *call) Stop() bool {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	if c.index < 0 {
		return false
	}
	heap.Remove(&c.clock.calls, c.index)
	return true
}

// callHeap orders calls by time, and calls of one time by when they were asked for.
type callHeap []*call

func (h callHeap) Len() int { return len(h) }

func (h callHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

func (h callHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *callHeap) Push(x any) {
	c := x.(*call)
	c.index = len(*h)
	*h = append(*h, c)
}

func (h *callHeap) Pop() any {
	c := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	c.index = -1
	return c
}
