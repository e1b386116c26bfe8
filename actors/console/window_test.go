package console

import (
	"testing"
	"time"

	"troupe/internal/histogram"
)

func TestAWindowShowsTheLastMinuteOrTwo(t *testing.T) {
	start := time.Unix(1000, 0)
	w := window{turned: start}
	var h histogram.Histogram
	// One second-long observation at 0 s, then one of a millisecond at each reading.
	h.Observe(time.Second)
	for _, c := range []struct {
		at      time.Duration
		counted uint64
		slow    bool // the first one is still seen
	}{
		{30 * time.Second, 2, true},
		{60 * time.Second, 3, true}, // the window turns here, and keeps what was before
		{90 * time.Second, 4, true},
		{120 * time.Second, 2, false}, // turned again: from 60 s on
		{150 * time.Second, 3, false},
		{10 * time.Minute, 2, false}, // read rarely: since the reading that turned it before
	} {
		h.Observe(time.Millisecond)
		recent := w.recent(h.Read(), start.Add(c.at))
		if slow := recent.Quantile(1) > 500*time.Millisecond; recent.Count != c.counted || slow != c.slow {
			t.Errorf("at %v: %d counted, the slow one seen: %v; want %d, %v", c.at, recent.Count, slow, c.counted, c.slow)
		}
	}
}
