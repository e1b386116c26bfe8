//go:build !notrace

package kit

import (
	"time"

	"troupe/actors/trace"
)

// mark is what a traced message carries through the mailbox; nil for all others, which cost the tests for nil alone.
// The build tag notrace compiles a mailbox without marks, to measure that cost against.
type mark struct{ *caused }

type activeSpan = *trace.Span

type caused struct {
	cause    trace.Context
	sender   *cell
	enqueued time.Time
}

func (m mark) traced() bool { return m.caused != nil }

// traces is the one branch of an untraced send. It is apart from markFor, and traced from handTraced, so that both are
// inlined: a call would cost as much as the rest.
func (c *cell) traces(cause trace.Context) bool { return cause.Traced() || c.tracer.Filtering() }

func (c *cell) markFor(m Message, cause trace.Context, sender *cell) mark {
	if !cause.Traced() {
		if cause = c.tracer.Admit(c.name, c.kind.name, m.MessageKind()); !cause.Traced() {
			return mark{}
		}
	}
	return mark{&caused{cause: cause, sender: sender, enqueued: c.system.clock.Now()}}
}

func (c *cell) handTraced(e entry) {
	t := c.tracer
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
	c.tracer.Record(*c.span)
	c.span = nil
}

// links are the traced messages that the coming EndBatch serves.
type links struct {
	served []served
	work   trace.Activity
}

type served struct {
	msg   Message
	cause trace.Context
}

// Link says that the message being handled, m, will be served by EndBatch together with others, as an append is by a
// coalesced write. EndBatch then has a span of its own that links them all, and is the cause of what it sends. The
// dynamic type of m is a pointer.
func (x *Context) Link(m Message) {
	if x.cause.Traced() {
		x.links.served = append(x.links.served, served{msg: m, cause: x.cause})
	}
}

// SendFor sends from EndBatch what answers m, a message linked before: in the trace of m, caused by the shared work.
func (x *Context) SendFor(m Message, to Ref, answer Message) {
	cause := x.cause
	for _, s := range x.links.served {
		if s.msg == m {
			cause = x.links.work.For(s.cause)
			break
		}
	}
	to.cell.send(answer, cause, x.cell, x.cell.turn)
}

// callEndBatch runs EndBatch, within a span if it serves traced messages.
func (c *cell) callEndBatch(b BatchEnder) {
	l := &c.ctx.links
	if len(l.served) == 0 {
		b.EndBatch(c.ctx)
		return
	}
	causes := make([]trace.Context, len(l.served))
	for i, s := range l.served {
		causes[i] = s.cause
	}
	l.work = c.tracer.Begin(c.name, "EndBatch", causes)
	c.ctx.cause = l.work.Context()
	b.EndBatch(c.ctx)
	c.endLinks()
}

// endLinks closes the span of EndBatch, if it has one; after a panic too.
func (c *cell) endLinks() {
	l := &c.ctx.links
	if len(l.served) == 0 {
		return
	}
	c.ctx.cause = trace.Context{}
	l.work.End()
	clear(l.served)
	*l = links{served: l.served[:0]}
}
