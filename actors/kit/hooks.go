//go:build !notrace

package kit

import (
	"time"

	"troupe/actors/trace"
)

// mark is what a traced message carries through the mailbox; nil for all others, which cost the tests for nil alone.
// The build tag notrace compiles a mailbox without marks, to measure that cost against.
type mark = *caused

type activeSpan = *trace.Span

type caused struct {
	cause    trace.Context
	sender   *cell
	enqueued time.Time
}

// markFor is the one branch of an untraced send.
func (c *cell) markFor(m Message, cause trace.Context, sender *cell) mark {
	if !c.system.tracer.Enabled() {
		return nil
	}
	return c.markTraced(m, cause, sender)
}

func (c *cell) markTraced(m Message, cause trace.Context, sender *cell) mark {
	if !cause.Traced() {
		if cause = c.system.tracer.Admit(c.name, c.kind.name, m.MessageKind()); !cause.Traced() {
			return nil
		}
	}
	return &caused{cause: cause, sender: sender, enqueued: c.system.clock.Now()}
}

func (c *cell) hand(e entry) {
	if e.mark == nil {
		c.behavior.Receive(c.ctx, e.msg)
		return
	}
	c.handTraced(e)
}

func (c *cell) handTraced(e entry) {
	t := c.system.tracer
	c.span = &trace.Span{
		TraceID: e.mark.cause.Trace, SpanID: t.NewSpan(), Cause: e.mark.cause.Span,
		Sender: Ref{e.mark.sender}.Name(), Receiver: c.name, Kind: e.msg.MessageKind(),
		Enqueued: e.mark.enqueued, Started: c.system.clock.Now(),
	}
	c.ctx.cause = trace.Context{Trace: c.span.TraceID, Span: c.span.SpanID}
	c.behavior.Receive(c.ctx, e.msg)
	c.endSpan()
}

// endSpan closes the span of the message being handled, if it has one; after a panic too.
func (c *cell) endSpan() {
	if c.span == nil {
		return
	}
	c.ctx.cause = trace.Context{}
	c.span.Ended = c.system.clock.Now()
	c.system.tracer.Record(*c.span)
	c.span = nil
}
