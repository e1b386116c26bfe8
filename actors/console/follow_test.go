package console

import (
	"slices"
	"testing"

	"troupe/actors/trace"
)

func following(filter trace.Filter) *follow {
	return &follow{filter: filter, kinds: func(receiver string) string { return receiver }}
}

func spanKinds(spans []trace.Span) []string {
	out := []string{}
	for _, s := range spans {
		out = append(out, s.Kind)
	}
	return out
}

func TestAFollowLetsWholeTracesThrough(t *testing.T) {
	f := following(trace.Filter{Message: "Produce"})
	for _, c := range []struct {
		title string
		span  trace.Span
		want  []string
	}{
		{"a child that ends before its request is held", trace.Span{TraceID: 1, Kind: "append"}, nil},
		{"so is one of another trace", trace.Span{TraceID: 2, Kind: "watch"}, nil},
		{"and work that is shared", trace.Span{TraceID: 2, Kind: "write", Links: []trace.Context{{Trace: 2}, {Trace: 1}}}, nil},
		{"the request lets them out", trace.Span{TraceID: 1, Kind: "Produce"}, []string{"append", "write", "Produce"}},
		{"what ends later follows", trace.Span{TraceID: 1, Kind: "finished"}, []string{"finished"}},
		{"also what it shares", trace.Span{TraceID: 3, Kind: "fsync", Links: []trace.Context{{Trace: 1}}}, []string{"fsync"}},
		{"another trace stays out", trace.Span{TraceID: 2, Kind: "Fetch"}, nil},
	} {
		if got := spanKinds(f.admit(c.span)); !slices.Equal(got, append([]string{}, c.want...)) {
			t.Errorf("%s: %q, want %q", c.title, got, c.want)
		}
	}
}

func TestAFollowWithoutAFilterLetsAllThrough(t *testing.T) {
	if got := following(trace.Filter{}).admit(trace.Span{Kind: "any"}); len(got) != 1 {
		t.Errorf("%d spans, want the one", len(got))
	}
}

func TestAFollowHoldsAndRemembersNoMoreThanItsBounds(t *testing.T) {
	f := following(trace.Filter{Message: "match"})
	f.admit(trace.Span{TraceID: 1, Kind: "oldest"})
	for range heldMax {
		f.admit(trace.Span{TraceID: 1, Kind: "held"})
	}
	got := spanKinds(f.admit(trace.Span{TraceID: 1, Kind: "match"}))
	if len(got) != heldMax+1 || slices.Contains(got, "oldest") {
		t.Errorf("%d spans, want those held last and the match", len(got))
	}
	for id := trace.TraceID(2); id < 2+followedMax; id++ {
		f.admit(trace.Span{TraceID: id, Kind: "match"})
	}
	if len(f.known) != followedMax || f.admit(trace.Span{TraceID: 1, Kind: "late"}) != nil {
		t.Errorf("%d traces are remembered, the first among them", len(f.known))
	}
	if f.admit(trace.Span{TraceID: 1 + followedMax, Kind: "late"}) == nil {
		t.Error("the last trace is forgotten")
	}
}
