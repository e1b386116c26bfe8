package trace

// ring keeps the last spans. It grows to its limit only as spans come, so that a tracer that is off holds nothing.
type ring struct {
	limit int
	spans []Span
	next  int // where the next span goes once the ring is full
}

func (r *ring) push(s Span) {
	if len(r.spans) < r.limit {
		r.spans = append(r.spans, s)
		return
	}
	r.spans[r.next] = s
	r.next = (r.next + 1) % r.limit
}

// last copies out the newest n spans, oldest first.
func (r *ring) last(n int) []Span {
	n = min(n, len(r.spans))
	out := make([]Span, 0, n)
	for i := len(r.spans) - n; i < len(r.spans); i++ {
		out = append(out, r.spans[(r.next+i)%len(r.spans)])
	}
	return out
}
