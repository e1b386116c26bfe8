// Package histogram counts durations at the cost of two atomic additions each, finely enough for percentiles.
package histogram

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Buckets are log-linear, as in HdrHistogram: each power of two of unit is split into steps of equal width, so that a
// bound is at most a quarter above what it counts.
//
//	index   0    1    2    3    4    5    6    7    8    9 ...
//	below   8   16   24   32   40   48   56   64   80   96 ... µs
const (
	unit     = 8 * time.Microsecond
	stepBits = 2
	steps    = 1 << stepBits
	octaves  = 24
	count    = steps * (octaves + 1) // the last one holds all above: what took 7.8 minutes or more
)

// Histogram counts durations. The zero value is empty. It is safe for concurrent use.
type Histogram struct {
	counts [count]atomic.Uint64
	nanos  atomic.Int64
}

// Observe counts d; a negative one, of a clock that was stepped backwards, counts as 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	h.counts[indexOf(d)].Add(1)
	h.nanos.Add(int64(d))
}

func indexOf(d time.Duration) int {
	n := uint64(d / unit)
	if n < steps {
		return int(n)
	}
	octave := bits.Len64(n) - 1 - stepBits
	return min((octave<<stepBits)+int(n>>octave), count-1)
}

// Limit is the duration below which bucket i counts.
func Limit(i int) time.Duration {
	i++
	if i <= steps {
		return time.Duration(i) * unit
	}
	octave := i>>stepBits - 1
	return time.Duration(steps+i&(steps-1)) << octave * unit
}

// Counts is what a Histogram held at one moment.
type Counts struct {
	Buckets [count]uint64
	Count   uint64
	Sum     time.Duration
}

// Read copies the counts out. What is observed meanwhile may be in or not.
func (h *Histogram) Read() Counts {
	c := Counts{Sum: time.Duration(h.nanos.Load())}
	for i := range h.counts {
		n := h.counts[i].Load()
		c.Buckets[i] = n
		c.Count += n
	}
	return c
}

// Since gives what was counted after an earlier reading of the same histogram.
func (c Counts) Since(earlier Counts) Counts {
	for i := range c.Buckets {
		c.Buckets[i] -= earlier.Buckets[i]
	}
	c.Count -= earlier.Count
	c.Sum -= earlier.Sum
	return c
}

// Plus adds the counts of another histogram.
func (c Counts) Plus(o Counts) Counts {
	for i := range c.Buckets {
		c.Buckets[i] += o.Buckets[i]
	}
	c.Count += o.Count
	c.Sum += o.Sum
	return c
}

// Quantile is the duration that a share q, from 0 to 1, of those counted did not exceed, 0 when there are none. Within
// a bucket they count as evenly spread.
func (c *Counts) Quantile(q float64) time.Duration {
	rank := q * float64(c.Count)
	below, seen := time.Duration(0), 0.0
	for i, n := range c.Buckets {
		limit := Limit(i)
		if n > 0 && seen+float64(n) >= rank {
			return below + time.Duration((rank-seen)/float64(n)*float64(limit-below))
		}
		seen += float64(n)
		below = limit
	}
	return 0
}

// Mean is the average of those counted, 0 when there are none.
func (c *Counts) Mean() time.Duration {
	if c.Count == 0 {
		return 0
	}
	return c.Sum / time.Duration(c.Count)
}

// Cumulative gives the counts below the powers of two of 64 µs, in seconds, in the form of Prometheus' histograms: few
// enough to be kept as a series each.
func (c *Counts) Cumulative() map[float64]uint64 {
	const coarsest = 3 // the first power is 64 µs
	out := make(map[float64]uint64, octaves)
	var sum uint64
	for i, n := range c.Buckets[:count-1] {
		sum += n
		if octave := (i + 1) >> stepBits; (i+1)%steps == 0 && octave >= coarsest-1 {
			out[Limit(i).Seconds()] = sum
		}
	}
	return out
}
