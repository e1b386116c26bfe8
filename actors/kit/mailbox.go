package kit

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/trace"
)

var _ actor.Mailbox = (*cell)(nil)

// sampleEvery is how many swaps of a mailbox go by for each one that is measured: a look at the clock costs as much as
// handing a message over.
const sampleEvery = 8

// send is what every message goes through.
func (c *cell) send(m Message, cause trace.Context, sender *cell, t *Turn) {
	e := entry{msg: m}
	if c.traces(cause) {
		e.mark = c.markFor(m, cause, sender)
	}
	if s, ok := m.(Sized); ok {
		c.bytes.Add(int64(s.MessageBytes()))
	}
	c.post(e, t)
}

// post puts e into the mailbox. When that wakes the actor it is run by the turn, if it may be, else by its dispatcher.
func (c *cell) post(e entry, t *Turn) {
	c.mu.Lock()
	if c.phase >= stopped {
		c.mu.Unlock()
		c.deadLetter(e)
		return
	}
	if c.sampled && len(c.queue) == 0 {
		c.waited = c.system.clock.Now()
	}
	c.queue = append(c.queue, e)
	c.posted++
	wake := !c.scheduled && !c.suspended
	c.scheduled = c.scheduled || wake
	c.mu.Unlock()
	switch {
	case !wake:
	case t.takes(c, e.msg):
		t.add(c)
	default:
		c.dispatcher.Schedule(c.process)
	}
}

// PostUserMessage is part of protoactor's Mailbox. Messages of the kit do not come this way.
func (c *cell) PostUserMessage(m any) {
	if msg, ok := m.(Message); ok {
		c.post(entry{msg: msg}, nil)
	}
}

// PostSystemMessage is part of protoactor's Mailbox: the order waits for the present message, then comes first.
func (c *cell) PostSystemMessage(m any) {
	c.mu.Lock()
	if c.phase >= stopped {
		c.mu.Unlock()
		return
	}
	c.orders = append(c.orders, m)
	c.pending.Add(1)
	wake := !c.scheduled
	c.scheduled = true
	c.mu.Unlock()
	if wake {
		c.dispatcher.Schedule(c.process)
	}
}

// RegisterHandlers is part of protoactor's Mailbox; it is called before anything is posted.
func (c *cell) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	c.invoker = invoker
	c.dispatcher = dispatcher
}

// Start is part of protoactor's Mailbox; there is nothing to do, as orders may come before it.
func (c *cell) Start() {}

// UserMessageCount is part of protoactor's Mailbox.
func (c *cell) UserMessageCount() int { return c.depth() }

// deadLetter tells whoever waits for e that it will not be handled. The kit's own signals are nobody's loss.
func (c *cell) deadLetter(e entry) {
	if s, ok := e.msg.(Sized); ok {
		c.bytes.Add(-int64(s.MessageBytes()))
	}
	if _, own := e.msg.(signal); own {
		return
	}
	c.kind.deadLetters.Add(1)
	if f, ok := e.msg.(Failable); ok {
		c.guard("Fail", func() { f.Fail(ErrStopped) })
	}
}
