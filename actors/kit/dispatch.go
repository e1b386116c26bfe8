package kit

import (
	"math/rand/v2"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// turnLength is how many messages an actor handles before it lets the scheduler choose again.
const turnLength = 300

func (s *System) dispatcherFor(p Props) actor.Dispatcher {
	switch {
	case s.stepwise != nil && p.Dedicated && s.stepwise.begin != nil:
		return lanes{s.stepwise}
	case s.stepwise != nil:
		return s.stepwise
	case p.Dedicated:
		return newDedicated()
	default:
		return s.workers
	}
}

// dedicated runs one actor on one goroutine for the actor's whole life.
type dedicated struct{ work chan func() }

func newDedicated() *dedicated {
	// One place is enough for Schedule never to block: the mailbox schedules one run at a time.
	d := &dedicated{work: make(chan func(), 1)}
	go d.loop()
	return d
}

// loop needs no recovery of its own: all that it runs is cell.run, which recovers.
func (d *dedicated) loop() {
	for f := range d.work {
		f()
	}
}

// Schedule is part of protoactor's Dispatcher.
func (d *dedicated) Schedule(f func()) { d.work <- f }

// Throughput is part of protoactor's Dispatcher.
func (d *dedicated) Throughput() int { return turnLength }

func (d *dedicated) end() { close(d.work) }

// Deterministic runs actors one message at a time, on the goroutine that calls Step or Run. Which of the actors that
// have something to do comes next is drawn from the seed: one seed, one order, as long as all messages come from the
// actors, that goroutine and a clock.Manual that it advances.
type Deterministic struct {
	mu    sync.Mutex
	ready []func()
	rng   *rand.Rand
	begin func(run func())
}

// NewDeterministic starts the order that belongs to the seed.
func NewDeterministic(seed uint64) *Deterministic {
	return &Deterministic{rng: rand.New(rand.NewPCG(seed, seed))}
}

// Lanes gives the turns of Dedicated actors to begin, which calls run when the time that the work takes is over: then the
// turn takes its place in the order. A simulated disk is slow that way. It is called before any actor is spawned.
func (d *Deterministic) Lanes(begin func(run func())) { d.begin = begin }

// lanes is the dispatcher of Dedicated actors under a Deterministic one that has been told how long they take. All that
// waits is one turn, as what waits for a lane is one write.
type lanes struct{ *Deterministic }

func (l lanes) Schedule(f func()) { l.begin(func() { l.Deterministic.Schedule(f) }) }

func (l lanes) Throughput() int { return turnLength }

// Schedule is part of protoactor's Dispatcher.
func (d *Deterministic) Schedule(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = append(d.ready, f)
}

// Throughput is part of protoactor's Dispatcher: one message a turn, so that every interleaving can come up.
func (d *Deterministic) Throughput() int { return 1 }

// Step gives one actor its turn. It returns false when there is nothing to do.
func (d *Deterministic) Step() bool {
	d.mu.Lock()
	if len(d.ready) == 0 {
		d.mu.Unlock()
		return false
	}
	last := len(d.ready) - 1
	i := d.rng.IntN(len(d.ready))
	f := d.ready[i]
	d.ready[i], d.ready[last] = d.ready[last], nil
	d.ready = d.ready[:last]
	d.mu.Unlock()
	f()
	return true
}

// Run steps until there is nothing to do, at most limit times, and returns how many steps it took.
func (d *Deterministic) Run(limit int) int {
	for n := range limit {
		if !d.Step() {
			return n
		}
	}
	return limit
}
