package kit

import (
	"math"
	"runtime"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
)

// outcome is how a pass over the mailbox ended.
type outcome uint8

const (
	idle    outcome = iota // nothing left; scheduled is cleared
	yielded                // used its turn up
	crashed                // the behavior panicked; the orders that follow from it wait
)

// deliver is what protoactor is given in place of messages: the shell takes those of the batch itself, which spares a
// trip through protoactor for each.
type deliver struct{}

var deliverBatch = &deliver{}

// run empties the mailbox. It is the only function given to a dispatcher.
func (c *cell) run() {
	const always = math.MaxInt
	c.turn = nil
	for {
		switch c.pass(always) {
		case idle:
			return
		case yielded:
			// A test decides who goes on; otherwise the goroutine keeps the actor and only lets others run.
			if c.system.stepwise != nil {
				c.dispatcher.Schedule(c.process)
				return
			}
			runtime.Gosched()
		case crashed:
		}
	}
}

// visit gives the actor one look into its mailbox on the goroutine of a turn, and tells whether more is to be done: it is
// for the turn to see to that, since scheduled stays set.
func (c *cell) visit(t *Turn) (more bool) {
	c.turn = t
	o := crashed
	for o == crashed {
		o = c.pass(1)
	}
	return o == yielded
}

// pass works through orders and messages until there are none, the turn ends or the mailbox was looked into so many times.
// It is where panics of behaviors end up.
func (c *cell) pass(looks int) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			c.crash(r, debug.Stack())
			o = crashed
		}
	}()
	// A turn bounds what one actor handles before it lets others run.
	for turn := c.dispatcher.Throughput(); turn > 0; {
		switch {
		case c.pending.Load() > 0:
			c.obey(c.nextOrder())
			if c.gone {
				c.finish()
				return idle
			}
		case c.next < len(c.batch) && c.deliverable():
			before := c.next
			c.invoker.InvokeUserMessage(deliverBatch)
			turn -= c.next - before
		case !c.swap():
			return idle
		default:
			if looks--; looks < 0 {
				return yielded
			}
		}
	}
	return yielded
}

// deliverable is read without the lock: only the owner changes suspended, and phase from leaving on.
func (c *cell) deliverable() bool { return !c.suspended && c.phase < stopping }

// swap takes what has come since the last swap. It tells whether there is anything to do.
func (c *cell) swap() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.orders) > 0 {
		return true
	}
	if len(c.queue) == 0 || !c.deliverable() {
		c.scheduled = false
		c.turn = nil
		c.shrink()
		return false
	}
	// The two slices change places, so a busy mailbox allocates nothing.
	c.batch, c.queue = c.queue, c.batch[:0]
	c.next = 0
	c.swaps++
	if c.sampled {
		c.observeSwap(len(c.batch))
	}
	c.sampled = c.swaps%sampleEvery == 0
	return true
}

// shrink gives large queues back when the actor falls asleep.
func (c *cell) shrink() {
	if cap(c.batch) > idleCapacity && c.next == len(c.batch) {
		c.batch, c.next = nil, 0
	}
	if cap(c.queue) > idleCapacity && len(c.queue) == 0 {
		c.queue = nil
	}
}

// nextOrder takes the oldest order; the cleared slot lets it be collected.
func (c *cell) nextOrder() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.orders[0]
	c.orders[0] = nil
	c.orders = c.orders[1:]
	if len(c.orders) == 0 {
		c.orders = nil
	}
	c.pending.Add(-1)
	return m
}

// obey carries out one order of protoactor's.
func (c *cell) obey(m any) {
	switch m.(type) {
	case *actor.SuspendMailbox:
		c.setSuspended(true)
	case *actor.ResumeMailbox:
		c.setSuspended(false)
	case *actor.Restart:
		// Protoactor would bring an actor that is stopping back to life, and never finish its stop.
		if c.phase < stopping {
			c.restarts.Add(1)
			c.invoker.InvokeSystemMessage(m)
		}
	case *actor.Stop:
		c.setPhase(stopping)
		c.invoker.InvokeSystemMessage(m)
	default:
		c.invoker.InvokeSystemMessage(m)
	}
}

func (c *cell) setSuspended(v bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspended = v
}

// setPhase never goes back (K9).
func (c *cell) setPhase(p phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = max(c.phase, p)
}
