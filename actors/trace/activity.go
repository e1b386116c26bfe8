package trace

import "time"

// Activity is a span under way that is not the handling of one message: a request at its connection, or a piece of
// work done for many messages at once. The empty Activity is valid and does nothing.
type Activity struct {
	tracer *Tracer
	span   *Span
}

// Begin starts work that serves all of the causes, such as one disk write for many appends. Causes that are not traced
// are left out; when none is, the Activity is empty. The causes are copied.
func (t *Tracer) Begin(receiver, kind string, causes []Context) Activity {
	var span *Span
	for _, c := range causes {
		if !c.Traced() {
			continue
		}
		if span == nil {
			now := t.opts.Clock.Now()
			span = &Span{
				TraceID: c.Trace, SpanID: t.NewSpan(), Cause: c.Span,
				Receiver: receiver, Kind: kind, Enqueued: now, Started: now, Broker: t.opts.Broker,
			}
		}
		span.Links = append(span.Links, c)
	}
	if span == nil {
		return Activity{}
	}
	if len(span.Links) == 1 {
		span.Links = nil
	}
	return Activity{tracer: t, span: span}
}

// Context makes the activity the cause of a message, within the activity's own trace.
func (a Activity) Context() Context {
	if a.span == nil {
		return Context{}
	}
	return Context{Trace: a.span.TraceID, Span: a.span.SpanID}
}

// For makes the activity the cause of a message that continues the trace of one of its causes: the completion of an
// append that a coalesced write served stays in the append's trace. It is empty when that cause is not traced.
func (a Activity) For(cause Context) Context {
	if a.span == nil || !cause.Traced() {
		return Context{}
	}
	return Context{Trace: cause.Trace, Span: a.span.SpanID}
}

// Admitted says when the request arrived and that its handling begins now: what lies between is its queueing. It is
// called before the context is passed on.
func (a Activity) Admitted(arrived time.Time) {
	if a.span != nil {
		a.span.Enqueued, a.span.Started = arrived, a.tracer.opts.Clock.Now()
	}
}

// Part records a piece of the activity that ends now as a span of its own, by the same receiver.
func (a Activity) Part(kind string, enqueued, started time.Time) {
	if a.span == nil {
		return
	}
	a.tracer.Record(Span{
		TraceID: a.span.TraceID, SpanID: a.tracer.NewSpan(), Cause: a.span.SpanID, Receiver: a.span.Receiver, Kind: kind,
		Enqueued: enqueued, Started: started, Ended: a.tracer.opts.Clock.Now(),
	})
}

// End records the activity. It is called once, from any goroutine.
func (a Activity) End() {
	if a.span == nil {
		return
	}
	a.span.Ended = a.tracer.opts.Clock.Now()
	a.tracer.Record(*a.span)
}
