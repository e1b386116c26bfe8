package listener

import (
	"math/bits"
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

// latest bounds how much later than asked a long poll may end.
const latest = 16 * time.Millisecond

// lateness is what a pause that begins at an age gets longer so that those of other connections end with it: hundreds of
// consumers that wait in vain wake the process for each, and it costs more to wake than to answer. Pauses end on a grid of
// milliseconds as wide as the largest power of two that is at most a sixteenth of the pause.
func lateness(age, pause time.Duration) time.Duration {
	ms := pause / (16 * time.Millisecond)
	if ms < 2 {
		return 0
	}
	grid := min(time.Duration(1)<<(bits.Len64(uint64(ms))-1)*time.Millisecond, latest)
	return (grid - (age+pause)%grid) % grid
}
