package console

import "troupe/actors/trace"

const (
	followedMax = 4096 // traces that a follow remembers
	heldMax     = 1024 // spans that it keeps for a match to come
)

// follow lets the traces through in which a span matches a filter, whole: what a request led to ends before the
// request does, so spans are held for a while.
type follow struct {
	filter trace.Filter
	kinds  func(receiver string) string
	known  map[trace.TraceID]struct{}
	order  []trace.TraceID // of known, a ring from next on once it is full
	next   int
	held   []trace.Span // a ring from oldest on once it is full
	oldest int
}

// Three things decide on a span: whether its trace is known, whether it matches, and whether it has to wait for a match.
// admit gives the spans that may go out now that s has come, in the order of their ends.
func (f *follow) admit(s trace.Span) []trace.Span {
	switch {
	case f.filter == (trace.Filter{}) || f.belongs(&s):
		return []trace.Span{s}
	case f.filter.Matches(s.Receiver, f.kinds(s.Receiver), s.Kind):
		f.remember(s.TraceID)
		return append(f.release(), s)
	}
	f.hold(s)
	return nil
}

// belongs tells whether the span is part of a trace that goes out, or did work for one.
func (f *follow) belongs(s *trace.Span) bool {
	if _, ok := f.known[s.TraceID]; ok {
		return true
	}
	for _, l := range s.Links {
		if _, ok := f.known[l.Trace]; ok {
			return true
		}
	}
	return false
}

// remember forgets the trace that was admitted longest ago: a filter that matches everything must not grow without end.
func (f *follow) remember(id trace.TraceID) {
	if f.known == nil {
		f.known = make(map[trace.TraceID]struct{})
	}
	if len(f.order) < followedMax {
		f.order = append(f.order, id)
	} else {
		delete(f.known, f.order[f.next])
		f.order[f.next] = id
		f.next = (f.next + 1) % followedMax
	}
	f.known[id] = struct{}{}
}

// hold keeps spans that may turn out to belong: a trace's first spans end before the one that the filter matches.
func (f *follow) hold(s trace.Span) {
	if len(f.held) < heldMax {
		f.held = append(f.held, s)
		return
	}
	f.held[f.oldest] = s
	f.oldest = (f.oldest + 1) % heldMax
}

// release takes the held spans out that belong now.
func (f *follow) release() []trace.Span {
	var out, kept []trace.Span
	for i := range f.held {
		s := f.held[(f.oldest+i)%len(f.held)]
		if f.belongs(&s) {
			out = append(out, s)
		} else {
			kept = append(kept, s)
		}
	}
	f.held, f.oldest = kept, 0
	return out
}
