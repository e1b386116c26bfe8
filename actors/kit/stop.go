package kit

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// signal marks the kit's own entries in a mailbox: dropping one is nobody's loss.
type signal interface{ kitSignal() }

// stopMark stands in the queue behind everything that was sent before the stop was asked for.
type stopMark struct{}

func (*stopMark) MessageKind() string { return "Stop" }
func (*stopMark) kitSignal()          {}

// notice is a message of the kit to one incarnation; a later one does not know what it is about.
type notice struct {
	Message
	age uint32
}

func (*notice) kitSignal() {}

type watcher struct {
	cell *cell
	age  uint32
}

// askToStop makes the actor drain and stop; asking again changes nothing.
func (c *cell) askToStop() {
	c.mu.Lock()
	if c.asked || c.phase >= stopped {
		c.mu.Unlock()
		return
	}
	c.asked = true
	between := c.suspended
	c.mu.Unlock()
	if between {
		// Between two incarnations there is nothing to drain, and the restart may be a long backoff away.
		c.PostSystemMessage(&actor.Stop{})
		return
	}
	c.post(entry{msg: &stopMark{}}, nil)
}

// watch makes w hear of the end of c, at once if that is past.
func (c *cell) watch(w watcher) {
	c.mu.Lock()
	past := c.phase == ended
	if !past && !slices.Contains(c.watchers, w) {
		c.watchers = append(c.watchers, w)
	}
	c.mu.Unlock()
	if past {
		w.tell(c)
	}
}

func (w watcher) tell(c *cell) {
	w.cell.post(entry{msg: &notice{Message: Terminated{Actor: Ref{c}}, age: w.age}}, nil)
}

// stopDone gives a channel that is closed when c has stopped.
func (c *cell) stopDone() <-chan struct{} {
	done := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == ended {
		close(done)
	} else {
		c.done = append(c.done, done)
	}
	return done
}

// finish is the end of the cell, after protoactor has removed the name and told the parent: whoever hears of it from
// here may spawn the name again, and nothing sent before is unanswered.
func (c *cell) finish() {
	c.mu.Lock()
	c.phase = stopped
	left := append(c.batch[c.next:], c.queue...)
	c.batch, c.queue, c.orders = nil, nil, nil
	c.next, c.turn = 0, nil
	if c.restart != nil {
		c.restart.Stop()
	}
	c.mu.Unlock()
	for _, e := range left {
		c.deadLetter(e)
	}
	c.system.forget(c)

	c.mu.Lock()
	c.phase = ended
	watchers, done := c.watchers, c.done
	c.watchers, c.done = nil, nil
	c.mu.Unlock()
	for _, w := range watchers {
		w.tell(c)
	}
	for _, d := range done {
		close(d)
	}
	if d, ok := c.dispatcher.(*dedicated); ok {
		d.end()
	}
}
