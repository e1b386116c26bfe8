package histogram_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"troupe/internal/histogram"
)

// The bounds of the package's drawing.
func TestBucketsAreLogLinear(t *testing.T) {
	want := []time.Duration{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160}
	for i, us := range want {
		if got := histogram.Limit(i); got != us*time.Microsecond {
			t.Errorf("bucket %d ends at %v, want %v µs", i, got, int64(us))
		}
	}
}

func TestADurationCountsInTheFirstBucketThatEndsAboveIt(t *testing.T) {
	for _, d := range []time.Duration{
		-time.Second, 0, 1, 8*time.Microsecond - 1, 8 * time.Microsecond, 32 * time.Microsecond, 63_999, 64_000,
		time.Millisecond, 999 * time.Millisecond, time.Minute,
	} {
		var h histogram.Histogram
		h.Observe(d)
		c := h.Read()
		for i, n := range c.Buckets {
			limit := histogram.Limit(i)
			if n == 0 && max(d, 0) < limit {
				t.Errorf("%v is not counted below %v", d, limit)
				break
			}
			if n == 1 {
				if d >= limit {
					t.Errorf("%v is counted below %v", d, limit)
				}
				break
			}
		}
	}
}

func TestWhatTookHoursIsInTheLastBucket(t *testing.T) {
	var h histogram.Histogram
	h.Observe(10 * time.Hour)
	c := h.Read()
	if c.Buckets[len(c.Buckets)-1] != 1 || c.Sum != 10*time.Hour {
		t.Errorf("counted %v", c)
	}
}

func TestQuantilesAreWithinAQuarterOfTheTruth(t *testing.T) {
	var h histogram.Histogram
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 { // evenly spread from 0 to 100 ms
		h.Observe(time.Duration(rng.Int64N(int64(100 * time.Millisecond))))
	}
	c := h.Read()
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		want := q * 0.1
		if got := c.Quantile(q).Seconds(); math.Abs(got-want) > want/4 {
			t.Errorf("quantile %v is %v s, want about %v", q, got, want)
		}
	}
	if mean := c.Mean().Seconds(); math.Abs(mean-0.05) > 0.001 {
		t.Errorf("mean %v s, want 0.05", mean)
	}
	var none histogram.Counts
	if none.Quantile(0.5) != 0 || none.Mean() != 0 {
		t.Error("nothing counted has a quantile or a mean")
	}
}

func TestSinceLeavesOutWhatWasCountedBefore(t *testing.T) {
	var h histogram.Histogram
	h.Observe(time.Second)
	before := h.Read()
	h.Observe(time.Millisecond)
	after := h.Read().Since(before)
	if after.Count != 1 || after.Sum != time.Millisecond || after.Quantile(1) > 2*time.Millisecond {
		t.Errorf("since then: %d in %v, the longest below %v", after.Count, after.Sum, after.Quantile(1))
	}
}

func TestCumulativeCountsAreBelowPowersOfTwo(t *testing.T) {
	var h histogram.Histogram
	for _, d := range []time.Duration{time.Microsecond, 63 * time.Microsecond, 64 * time.Microsecond, 200 * time.Microsecond, time.Second} {
		h.Observe(d)
	}
	c := h.Read()
	cumulative := c.Cumulative()
	for bound, want := range map[float64]uint64{64e-6: 2, 128e-6: 3, 256e-6: 4, 64e-6 * (1 << 13): 4, 64e-6 * (1 << 14): 5} {
		if got, there := cumulative[bound]; !there || got != want {
			t.Errorf("below %v s: %d (%v), want %d", bound, got, there, want)
		}
	}
	if _, finer := cumulative[32e-6]; finer {
		t.Error("there is a bound under 64 µs")
	}
}

func TestObservationsFromManyGoroutinesAllCount(t *testing.T) {
	var h histogram.Histogram
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				h.Observe(time.Millisecond)
			}
		})
	}
	wg.Wait()
	if c := h.Read(); c.Count != 4000 || c.Sum != 4*time.Second {
		t.Errorf("counted %d in %v, want 4000 in 4s", c.Count, c.Sum)
	}
}
