package kit

import "sync"

// pool is the dispatcher of ordinary actors: a goroutine for each one that is awake, kept for the next when it falls
// asleep. A new goroutine for each wake-up costs five times as much, because its stack has to grow every time.
type pool struct {
	mu     sync.Mutex
	idle   []chan func() // the last to fall asleep comes first: its stack is warm
	closed bool
}

// idleWorkers is how many sleeping goroutines are kept, of some 8 KiB each; a burst may need more for a while.
const idleWorkers = 256

// Schedule is part of protoactor's Dispatcher.
func (p *pool) Schedule(f func()) {
	p.mu.Lock()
	last := len(p.idle) - 1
	if last < 0 {
		p.mu.Unlock()
		go p.work(f)
		return
	}
	worker := p.idle[last]
	p.idle = p.idle[:last]
	p.mu.Unlock()
	worker <- f
}

// Throughput is part of protoactor's Dispatcher.
func (p *pool) Throughput() int { return turnLength }

// work needs no recovery of its own: all that it runs is cell.run, which recovers.
func (p *pool) work(f func()) {
	// One place, so that whoever schedules never waits for the worker to come to its receive.
	next := make(chan func(), 1)
	for f != nil {
		f()
		if !p.sleep(next) {
			return
		}
		f = <-next
	}
}

func (p *pool) sleep(worker chan func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == idleWorkers {
		return false
	}
	p.idle = append(p.idle, worker)
	return true
}

// close sends the sleeping goroutines home. Actors that are scheduled later still run.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, worker := range p.idle {
		close(worker)
	}
	p.idle = nil
}
