package broker

import (
	"sync/atomic"

	"troupe/partitionlog"
)

// opening counts the logs that are being opened at the start; done is closed when all are.
type opening struct {
	left      atomic.Int64
	logs      atomic.Int64
	failures  atomic.Int64
	scanned   atomic.Int64 // bytes read because of an unclean stop
	truncated atomic.Int64
	done      chan struct{}
}

// unknown stands for the number of logs until the metadata says it: more than there can be, since logs are opened from the
// first image on.
const unknown = 1 << 40

// newOpening counts down from a number that nothing reaches before the metadata says how many there are.
func newOpening() *opening {
	o := &opening{done: make(chan struct{})}
	o.left.Store(unknown)
	return o
}

// settled is told how many of the logs that were found the metadata claims.
func (o *opening) settled(logs int) {
	o.logs.Store(int64(logs))
	o.step(int64(logs) - unknown)
}

// opened is told of each of them, once.
func (o *opening) opened(r partitionlog.Recovery, err error) {
	if err != nil {
		o.failures.Add(1)
	}
	o.scanned.Add(r.ScannedBytes)
	o.truncated.Add(r.TruncatedBytes)
	o.step(-1)
}

// Opened sums up what opening the logs took at the start. Bytes are scanned after a stop that was not in order, and cut
// off where a batch was not whole. Failures counts the logs that cannot be used.
type Opened struct {
	Logs, Failures               int64
	ScannedBytes, TruncatedBytes int64
}

// Opened is final once Start has returned.
func (b *Broker) Opened() Opened {
	o := b.opening
	return Opened{Logs: o.logs.Load(), Failures: o.failures.Load(), ScannedBytes: o.scanned.Load(), TruncatedBytes: o.truncated.Load()}
}

// ended tells that all are open, or could not be opened.
func (o *opening) ended() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

func (o *opening) step(n int64) {
	if o.left.Add(n) == 0 { // steps are -1 but for settled's, so this happens once
		close(o.done)
	}
}
