package cleaner

import (
	"errors"
	"sync"
	"time"

	"troupe/configs"
	"troupe/internal/clock"
)

// Pool is what the cleaners of a broker share: how many logs are cleaned at once, with how much memory, and how fast. It
// is safe for concurrent use, and lanes wait in it.
//
// It is a lock and no actor, since its callers are lanes in the middle of a run: they block on disks anyway, and receive no
// message before the run is over. A turn is taken once a buffer (256 KiB by default), which takes a disk some 100 µs; the
// lock is held for a few sums. Measured on two busy cores with eight lanes that do nothing else (pool_bench_test.go): 0.1 to
// 0.7 µs a turn by the lock, 0.6 to 1.1 µs by a message to an actor and its answer, for which the lane would have to wait.
type Pool struct {
	clock  clock.Clock
	config func() configs.Cleaner

	mu   sync.Mutex
	busy int
	used int64     // memory for keys
	free time.Time // when the bytes that passed so far are paid for
}

// NewPool takes what may change while the broker runs from config.
func NewPool(c clock.Clock, config func() configs.Cleaner) *Pool {
	return &Pool{clock: c, config: config}
}

// Share is the part of one run.
type Share struct {
	MapBytes    int64
	BufferBytes int
}

// enter takes a share; false when log.cleaner.threads runs are under way, or a change of the configuration leaves no
// memory until one of them ends.
func (p *Pool) enter() (Share, bool) {
	cfg := p.config()
	p.mu.Lock()
	defer p.mu.Unlock()
	threads := int64(cfg.Threads)
	if int64(p.busy) >= threads {
		return Share{}, false
	}
	// Half of a run's buffers is for reading, half for writing.
	s := Share{MapBytes: cfg.MapBytes / threads, BufferBytes: int(int64(cfg.BufferBytes) / threads / 2)}
	if p.busy > 0 && p.used+s.MapBytes > cfg.MapBytes {
		return Share{}, false
	}
	p.busy++
	p.used += s.MapBytes
	return s, true
}

func (p *Pool) leave(s Share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.used -= s.MapBytes
}

// errStopped ends a run that is not wanted any more.
var errStopped = errors.New("the cleaner was stopped")

// pass holds bytes back so that all runs together keep to log.cleaner.io.max.bytes.per.second.
func (p *Pool) pass(bytes int, stopped <-chan struct{}) error {
	turn := make(chan struct{})
	wait := p.reserve(bytes)
	if wait > 0 {
		timer := p.clock.AfterFunc(wait, func() { close(turn) })
		defer timer.Stop()
	} else {
		close(turn)
	}
	select {
	case <-stopped:
		return errStopped
	case <-turn:
	}
	select {
	case <-stopped:
		return errStopped
	default:
		return nil
	}
}

// reserve gives the time until it is these bytes' turn.
func (p *Pool) reserve(bytes int) time.Duration {
	rate := p.config().BytesPerSec
	if rate <= 0 {
		rate = 1
	}
	cost := time.Duration(min(float64(bytes)/rate*float64(time.Second), float64(time.Hour)))
	if cost == 0 { // without a limit nobody waits, also where a clock was set back
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if p.free.Before(now) {
		p.free = now
	}
	wait := p.free.Sub(now)
	p.free = p.free.Add(cost)
	return wait
}
