package throttle

import (
	"sync"
	"time"
)

// Quota is a limit on what a broker moves. It is safe for concurrent use: connections and fetchers share it.
type Quota struct {
	limit func() int64 // bytes a second; Unlimited for none

	mu    sync.Mutex
	meter meter
}

// NewQuota makes a quota whose limit may change at any time.
func NewQuota(w Windows, limit func() int64) *Quota {
	return &Quota{limit: limit, meter: meter{windows: w}}
}

// Record counts what was moved. All that a throttled replica takes counts, also what the quota did not hold back.
func (q *Quota) Record(bytes int64, now time.Time) {
	if bytes > 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.meter.record(bytes, now)
	}
}

// Rate is in bytes a second, over the windows.
func (q *Quota) Rate(now time.Time) float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.meter.rate(now)
}

// Exceeded tells that the rate is above the limit, and when it is not any more: a window from now at the latest, since the
// limit may be changed meanwhile.
func (q *Quota) Exceeded(now time.Time) (until time.Time, exceeded bool) {
	limit := q.limit()
	if limit == Unlimited {
		return now, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.meter.freeAt(limit, now)
	if latest := now.Add(q.meter.windows.Length); at.After(latest) {
		at = latest
	}
	return at, at.After(now)
}
