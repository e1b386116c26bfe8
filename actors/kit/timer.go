package kit

import (
	"time"

	"troupe/actors/trace"
	"troupe/internal/clock"
)

// Timer is a message to the actor itself that is due later. It belongs to the incarnation that set it.
type Timer struct {
	msg        Message
	ctx        *Context // nil once stopped or received
	clock      clock.Timer
	prev, next *Timer
}

// After sends m to the actor itself after d, through its mailbox like any other message. A restart voids it.
func (x *Context) After(d time.Duration, m Message) *Timer {
	t := &Timer{msg: m, ctx: x, next: x.timers}
	if x.timers != nil {
		x.timers.prev = t
	}
	x.timers = t
	c := x.cell
	t.clock = c.system.clock.AfterFunc(d, func() { c.send(t, trace.Context{}, c, nil) })
	return t
}

// Stop makes sure that the message does not come any more, even if it is in the mailbox already, and tells whether it
// was still to come. It is for the actor's own goroutine.
func (t *Timer) Stop() bool {
	if t.ctx == nil {
		return false
	}
	t.ctx.unlink(t)
	t.clock.Stop()
	return true
}

// MessageKind is part of Message: the timer itself is what stands in the mailbox.
func (t *Timer) MessageKind() string { return t.msg.MessageKind() }

func (t *Timer) kitSignal() {}

// due tells whether t, just received, is still wanted, and takes it off the list.
func (x *Context) due(t *Timer) bool {
	if t.ctx != x {
		return false
	}
	x.unlink(t)
	return true
}

func (x *Context) unlink(t *Timer) {
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		x.timers = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.ctx, t.prev, t.next = nil, nil, nil
}

// release voids all timers at the end of the incarnation.
func (x *Context) release() {
	for x.timers != nil {
		x.timers.Stop()
	}
}
