package load

import (
	"runtime"
	"syscall"
	"time"
)

// pacer waits for moments to the microsecond: Go's timers end up to a millisecond late when the process is otherwise idle,
// since its poller counts in milliseconds, and that would be most of the latency that is to be measured.
type pacer struct{}

// newPacer is for the goroutine that calls it, until stop.
func newPacer() pacer {
	runtime.LockOSThread()
	return pacer{}
}

func (pacer) stop() { runtime.UnlockOSThread() }

func (pacer) until(t time.Time) {
	for {
		left := time.Until(t)
		if left <= 0 {
			return
		}
		ts := syscall.NsecToTimespec(int64(left))
		if err := syscall.Nanosleep(&ts, nil); err != nil && err != syscall.EINTR {
			pause(left)
		}
	}
}
