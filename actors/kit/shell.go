package kit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// shell is the actor that protoactor knows. It turns protoactor's life-cycle messages into calls on the behavior.
type shell struct{ *cell }

// Receive is part of protoactor's Actor.
func (s shell) Receive(pc actor.Context) {
	switch m := pc.Message().(type) {
	case *deliver:
		s.deliverBatch()
	case *actor.Started:
		s.begin(pc)
	// Protoactor watches children by itself and says so in this message.
	case *actor.Terminated:
		s.childGone(m.Who.Id)
	case *actor.Stopping:
		s.lastCall(s.endBatch)
	case *actor.Stopped:
		s.gone = true
		s.lastCall(s.sayStopped)
	}
}

// begin makes a new instance: a restart keeps the cell and nothing of the behavior.
func (c *cell) begin(pc actor.Context) {
	c.age++
	c.drained, c.leaving = false, false
	c.shell = pc
	c.ctx = &Context{cell: c, age: c.age}
	c.behavior = c.props.New()
	if b, ok := c.behavior.(Starter); ok {
		b.Start(c.ctx)
	}
}

// deliverBatch hands messages over until the batch or the turn ends, or an order comes.
func (c *cell) deliverBatch() {
	for turn := c.dispatcher.Throughput(); turn > 0 && c.next < len(c.batch); turn-- {
		e := c.batch[c.next]
		// The batch is used again; what was handled must not stay reachable through it.
		c.batch[c.next] = entry{}
		c.next++
		c.open = true
		c.current = e.msg
		if c.measured {
			c.receiveMeasured(e)
		} else {
			c.receive(e)
		}
		c.current = nil
		c.handled.Store(c.handled.Load() + 1)
		c.leaveWhenDrained()
		// An order of protoactor's (stop, restart, suspend) comes before the next message.
		if c.pending.Load() > 0 {
			break
		}
	}
	if c.next == len(c.batch) {
		c.endBatch()
		c.leaveWhenDrained()
	}
}

// receive hands over one message, or acts on those that are the kit's own.
func (c *cell) receive(e entry) {
	if s, ok := e.msg.(Sized); ok {
		c.bytes.Add(-int64(s.MessageBytes()))
	}
	switch m := e.msg.(type) {
	// A timer that was stopped, or belongs to an earlier incarnation, may be in the mailbox already.
	case *Timer:
		if !c.ctx.due(m) {
			return
		}
		e.msg = m.msg
	case *notice:
		// What an earlier incarnation watched for does not concern this one.
		if m.age == c.age {
			c.behavior.Receive(c.ctx, m.Message)
		}
		return
	case *stopMark:
		c.beginDrain()
		return
	case *panicOrder:
		panic(errPanicOrdered)
	}
	if e.mark.traced() {
		c.handTraced(e)
		return
	}
	c.behavior.Receive(c.ctx, e.msg)
}

// endBatch tells the behavior that it has seen all of one swap, once, and only if it was given something.
func (c *cell) endBatch() {
	if !c.open {
		return
	}
	c.open = false
	if b, ok := c.behavior.(BatchEnder); ok {
		c.callEndBatch(b)
	}
}

// beginDrain asks the behavior to come to an end; one that has nothing to finish is drained already.
func (c *cell) beginDrain() {
	if b, ok := c.behavior.(Drainer); ok {
		b.Drain(c.ctx)
		return
	}
	c.drained = true
}

// leaveWhenDrained stops the children, youngest first, then the actor itself.
func (c *cell) leaveWhenDrained() {
	if !c.drained || c.leaving {
		return
	}
	c.leaving = true
	c.endBatch()
	if len(c.children) == 0 {
		c.PostSystemMessage(&actor.Stop{})
		return
	}
	byAge := slices.SortedFunc(maps.Values(c.children), func(a, b *cell) int { return cmp.Compare(b.order, a.order) })
	for _, child := range byAge {
		child.askToStop()
	}
}

// childGone goes on with the stop when the last child has ended.
func (c *cell) childGone(name string) {
	delete(c.children, name)
	if c.leaving && len(c.children) == 0 {
		c.PostSystemMessage(&actor.Stop{})
	}
}

// sayStopped is the last call on the behavior; afterwards its context refuses everything.
func (c *cell) sayStopped() {
	b, ok := c.behavior.(Stopper)
	ctx := c.ctx
	if ok {
		b.Stopped(ctx)
	}
	ctx.release()
}
