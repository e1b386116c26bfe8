package listener

import (
	"sync/atomic"
	"time"
)

// alarm wakes the writer at the deadline of a long poll.
type alarm struct {
	timer *time.Timer
	at    time.Time
	armed atomic.Bool
}

// set leaves an alarm that comes earlier: waking once too often is cheaper than moving the timer with each poll.
func (a *alarm) set(at time.Time, in time.Duration, ring func()) {
	if a.armed.Load() && !a.at.After(at) {
		return
	}
	a.at = at
	a.armed.Store(true)
	if a.timer != nil {
		a.timer.Reset(in)
		return
	}
	a.timer = time.AfterFunc(in, func() {
		a.armed.Store(false)
		ring()
	})
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
