package kit

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// kindStats counts what the actors of one kind did. What each message adds to is in its cell alone, so that actors do
// not share cache lines; sums are taken by whoever asks.
type kindStats struct {
	name        string
	deadLetters atomic.Uint64
	handling    histogram
	queueing    histogram
	batches     histogram

	// Of cells that have stopped; guarded by System.mu.
	retiredHandled  uint64
	retiredRestarts uint64
}

func (k *kindStats) retire(c *cell) {
	k.retiredHandled += c.handled.Load()
	k.retiredRestarts += uint64(c.restarts.Load())
}

// KindStats sums up the actors of one kind, those that have stopped included.
type KindStats struct {
	Kind        string
	Actors      int    // living
	Depth       int    // messages waiting now
	Bytes       int64  // of them, for Sized messages
	Handled     uint64 // messages
	Restarts    uint64
	DeadLetters uint64
	// Handling and Queueing are times in seconds, Batches are messages found waiting at once. They are samples: one
	// of eight looks into a mailbox is measured, by the first message it finds.
	Handling, Queueing, Batches Histogram
}

// Histogram is in the form that Prometheus' constant histograms take.
type Histogram struct {
	Count   uint64
	Sum     float64
	Buckets map[float64]uint64 // cumulative, by inclusive upper bound
}

// buckets is the number of powers of two from 1: for times in microseconds up to 8.4 s, for counts up to 8.4 million.
const buckets = 24

// histogram counts values by the power of two that they do not exceed.
type histogram struct {
	counts [buckets + 1]atomic.Uint64 // the last is for all above
	sum    atomic.Uint64
}

func (h *histogram) observe(v uint64, unitsPerStep uint64) {
	steps := (v + unitsPerStep - 1) / unitsPerStep
	i := 0
	if steps > 1 {
		i = min(bits.Len64(steps-1), buckets)
	}
	h.counts[i].Add(1)
	h.sum.Add(v)
}

func (h *histogram) observeTime(d time.Duration) {
	// A clock that was stepped backwards gives negative times.
	h.observe(uint64(max(d, 0)), uint64(time.Microsecond))
}

// read gives the histogram with bounds of bound * 2^i and the sum scaled to the same unit.
func (h *histogram) read(bound, sumScale float64) Histogram {
	out := Histogram{Sum: float64(h.sum.Load()) * sumScale, Buckets: make(map[float64]uint64, buckets)}
	for i := range buckets {
		out.Count += h.counts[i].Load()
		out.Buckets[bound] = out.Count
		bound *= 2
	}
	out.Count += h.counts[buckets].Load()
	return out
}

// observeSwap runs under the cell's lock, when a measured batch of n is taken.
func (c *cell) observeSwap(n int) {
	c.measured = true
	c.kind.batches.observe(uint64(n), 1)
	if !c.waited.IsZero() {
		c.kind.queueing.observeTime(c.system.clock.Now().Sub(c.waited))
		c.waited = time.Time{}
	}
}

func (c *cell) receiveMeasured(e entry) {
	c.measured = false
	start := c.system.clock.Now()
	c.receive(e)
	c.kind.handling.observeTime(c.system.clock.Now().Sub(start))
}
