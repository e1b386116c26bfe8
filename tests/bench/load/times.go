package load

import (
	"slices"
	"time"
)

// Times are measured durations in no order.
type Times []time.Duration

// Quantile is the time that the share q of all is at most, 0 without any.
func (t Times) Quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
