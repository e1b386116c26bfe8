package trace

import (
	"slices"
	"sync/atomic"
)

// Subscription delivers finished spans to one reader. A reader that falls behind loses spans, which are counted; it
// never holds an actor up.
type Subscription struct {
	tracer  *Tracer
	filter  Filter
	spans   chan Span
	dropped atomic.Uint64
}

// Subscribe delivers spans from now on, at most queue of them waiting, those whose receiver and message kind match the
// filter (ActorKind is not known of a finished span and is ignored).
func (t *Tracer) Subscribe(filter Filter, queue int) *Subscription {
	filter.ActorKind = ""
	s := &Subscription{tracer: t, filter: filter, spans: make(chan Span, queue)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subs = append(t.subs, s)
	return s
}

// Spans is closed by Close.
func (s *Subscription) Spans() <-chan Span { return s.spans }

// Dropped counts the spans that found the queue full.
func (s *Subscription) Dropped() uint64 { return s.dropped.Load() }

// Close ends the delivery. It may be called more than once.
func (s *Subscription) Close() {
	s.tracer.mu.Lock()
	defer s.tracer.mu.Unlock()
	i := slices.Index(s.tracer.subs, s)
	if i < 0 {
		return
	}
	s.tracer.subs = slices.Delete(s.tracer.subs, i, i+1)
	close(s.spans)
}

// offer runs under the tracer's lock, which also keeps it apart from Close.
func (s *Subscription) offer(span Span) {
	if !s.filter.Matches(span.Receiver, "", span.Kind) {
		return
	}
	select {
	case s.spans <- span:
	default:
		s.dropped.Add(1)
	}
}
