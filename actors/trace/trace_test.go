package trace_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"troupe/actors/trace"
	"troupe/internal/clock"
)

func newTracer(ring int) (*trace.Tracer, *clock.Manual) {
	c := clock.NewManual(time.Unix(100, 0).UTC())
	return trace.New(trace.Options{Clock: c, Broker: 3, Seed: 42, Ring: ring}), c
}

func kinds(spans []trace.Span) []string {
	out := make([]string, len(spans))
	for i, s := range spans {
		out[i] = s.Kind
	}
	return out
}

func TestOneOfNRequestsIsSampled(t *testing.T) {
	for _, c := range []struct{ oneIn, requests, want int }{{0, 100, 0}, {1, 100, 100}, {10, 100, 10}, {1000, 999, 0}, {-1, 10, 0}} {
		tr, _ := newTracer(0)
		tr.SetRule(trace.Rule{OneIn: c.oneIn})
		sampled := 0
		for range c.requests {
			if tr.Start("connection", "Produce").Context().Traced() {
				sampled++
			}
		}
		if sampled != c.want {
			t.Errorf("1 in %d: %d of %d sampled, want %d", c.oneIn, sampled, c.requests, c.want)
		}
	}
}

func TestAFilterAdmitsByReceiverItsKindAndTheMessage(t *testing.T) {
	for _, c := range []struct {
		filter trace.Filter
		want   bool
	}{
		{trace.Filter{}, true},
		{trace.Filter{Actor: "replicas/"}, true},
		{trace.Filter{Actor: "replicas/3/orders-0"}, true},
		{trace.Filter{Actor: "orders"}, false},
		{trace.Filter{ActorKind: "replica"}, true},
		{trace.Filter{ActorKind: "repl"}, false},
		{trace.Filter{Message: "Append"}, true},
		{trace.Filter{ActorKind: "replica", Message: "Fetch"}, false},
	} {
		tr, _ := newTracer(0)
		tr.SetRule(trace.Rule{Filters: []trace.Filter{{Actor: "nobody"}, c.filter}})
		if got := tr.Admit("replicas/3/orders-0", "replica", "Append").Traced(); got != c.want {
			t.Errorf("%+v: admitted %v, want %v", c.filter, got, c.want)
		}
	}
}

func TestAFilterAdmitsRequestsToo(t *testing.T) {
	tr, _ := newTracer(0)
	tr.SetRule(trace.Rule{Filters: []trace.Filter{{ActorKind: trace.ConnectionKind, Message: "Produce"}}})
	if !tr.Start("listeners/PLAINTEXT/1", "Produce").Context().Traced() {
		t.Error("a Produce is not traced")
	}
	if tr.Start("listeners/PLAINTEXT/1", "Fetch").Context().Traced() {
		t.Error("a Fetch is traced")
	}
}

func TestARuleBesideTheStandingOneLastsUntilItIsRemoved(t *testing.T) {
	tr, _ := newTracer(0)
	sampled := func() (n int) {
		for range 100 {
			if tr.Start("connection", "Produce").Context().Traced() {
				n++
			}
		}
		return n
	}
	tr.SetRule(trace.Rule{OneIn: 50})
	half := tr.AddRule(trace.Rule{OneIn: 2})
	tenth := tr.AddRule(trace.Rule{OneIn: 10, Filters: []trace.Filter{{Actor: "replicas/"}}})
	if n := sampled(); n != 50 {
		t.Fatalf("%d of 100 sampled, want every second", n)
	}
	half()
	if n := sampled(); n != 10 || !tr.Admit("replicas/1", "shard", "m").Traced() {
		t.Fatalf("%d of 100 sampled, want every tenth, and the shard's message", n)
	}
	tenth()
	tenth()
	if n := sampled(); n != 2 || tr.Filtering() || tr.Rule().OneIn != 50 {
		t.Fatalf("%d of 100 sampled by %+v, want every fiftieth", n, tr.Rule())
	}
}

func TestARequestTellsItsQueueingAndItsParts(t *testing.T) {
	tr, c := newTracer(0)
	tr.SetRule(trace.Rule{OneIn: 1})
	arrived := c.Now()
	request := tr.Start("connection", "Produce")
	c.Advance(2 * time.Millisecond)
	request.Admitted(arrived)
	c.Advance(3 * time.Millisecond)
	answered := c.Now()
	c.Advance(4 * time.Millisecond)
	request.Part("reply", answered, c.Now())
	request.End()

	spans := tr.Recent(2)
	part, whole := spans[0], spans[1]
	if whole.Queued() != 2*time.Millisecond || whole.Handled() != 7*time.Millisecond {
		t.Errorf("queued %v and handled %v, want 2 and 7 ms", whole.Queued(), whole.Handled())
	}
	if part.Cause != whole.SpanID || part.TraceID != whole.TraceID || part.Queued() != 4*time.Millisecond || part.Receiver != "connection" {
		t.Errorf("the part is %+v", part)
	}
}

func TestTheRingKeepsTheLastSpans(t *testing.T) {
	tr, _ := newTracer(3)
	for _, c := range []struct {
		add  string
		ask  int
		want []string
	}{
		{"a", 5, []string{"a"}},
		{"b", 1, []string{"b"}},
		{"c", 3, []string{"a", "b", "c"}},
		{"d", 3, []string{"b", "c", "d"}},
		{"e", 2, []string{"d", "e"}},
		{"f", 0, []string{}},
	} {
		tr.Record(trace.Span{Kind: c.add})
		if got := kinds(tr.Recent(c.ask)); !slices.Equal(got, c.want) {
			t.Fatalf("after %s the last %d are %q, want %q", c.add, c.ask, got, c.want)
		}
	}
}

func TestASlowSubscriberLosesSpansAndCountsThem(t *testing.T) {
	tr, _ := newTracer(0)
	slow := tr.Subscribe(trace.Filter{Actor: "replicas/"}, 2)
	for _, s := range []trace.Span{
		{Receiver: "replicas/1", Kind: "a"}, {Receiver: "disks/1", Kind: "b"},
		{Receiver: "replicas/2", Kind: "c"}, {Receiver: "replicas/3", Kind: "d"},
	} {
		tr.Record(s)
	}
	slow.Close()
	slow.Close()
	tr.Record(trace.Span{Receiver: "replicas/1", Kind: "after the end"})
	var got []trace.Span
	for s := range slow.Spans() {
		got = append(got, s)
	}
	if want := []string{"a", "c"}; !slices.Equal(kinds(got), want) || slow.Dropped() != 1 {
		t.Fatalf("got %q and %d dropped, want %q and 1", kinds(got), slow.Dropped(), want)
	}
}

func TestSharedWorkHasOneCauseAndLinksAllThatItServes(t *testing.T) {
	tr, _ := newTracer(0)
	a, b := trace.Context{Trace: 1, Span: 11}, trace.Context{Trace: 2, Span: 22}
	for _, c := range []struct {
		title   string
		causes  []trace.Context
		cause   trace.SpanID
		links   []trace.Context
		nothing bool
	}{
		{title: "none", nothing: true},
		{title: "untraced ones", causes: []trace.Context{{}, {}}, nothing: true},
		{title: "one traced", causes: []trace.Context{{}, a}, cause: 11},
		{title: "two traced", causes: []trace.Context{a, {}, b}, cause: 11, links: []trace.Context{a, b}},
	} {
		before := len(tr.Recent(100))
		work := tr.Begin("lane", "Write", c.causes)
		work.End()
		spans := tr.Recent(100)[before:]
		if c.nothing {
			if len(spans) != 0 || work.Context().Traced() || work.For(a).Traced() {
				t.Errorf("%s: traced %v", c.title, spans)
			}
			continue
		}
		s := spans[0]
		if s.Cause != c.cause || !slices.Equal(s.Links, c.links) || s.TraceID != 1 || s.Broker != 3 {
			t.Errorf("%s: %+v", c.title, s)
		}
		if got := work.For(b); got.Trace != 2 || got.Span != s.SpanID {
			t.Errorf("%s: an answer to b goes on as %v", c.title, got)
		}
	}
}

func TestASpanIsJSONThatReadsBack(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	span := trace.Span{
		TraceID: 0xfedcba9876543210, SpanID: 0x0f, Cause: 1, Links: []trace.Context{{Trace: 2, Span: 3}},
		Sender: "a", Receiver: "b", Kind: "Append", Enqueued: at, Started: at, Ended: at, Broker: 1,
	}
	const want = `{"trace":"fedcba9876543210","span":"000000000000000f","cause":"0000000000000001",` +
		`"links":[{"trace":"0000000000000002","span":"0000000000000003"}],"sender":"a","receiver":"b","kind":"Append",` +
		`"enqueued":"2026-01-02T03:04:05.000006Z","started":"2026-01-02T03:04:05.000006Z",` +
		`"ended":"2026-01-02T03:04:05.000006Z","broker":1}`
	text, err := json.Marshal(span)
	if err != nil || string(text) != want {
		t.Fatalf("%v\n%s\nwant\n%s", err, text, want)
	}
	var back trace.Span
	if err := json.Unmarshal(text, &back); err != nil || back.TraceID != span.TraceID || back.Cause != 1 || back.Links[0].Span != 3 {
		t.Fatalf("%v: read back %+v", err, back)
	}
}

func TestIdsDifferWithinALifeAndBetweenSeeds(t *testing.T) {
	seen := map[trace.SpanID]bool{}
	for seed := range uint64(4) {
		tr := trace.New(trace.Options{Clock: clock.System(), Seed: seed * 7919})
		for range 10_000 {
			id := tr.NewSpan()
			if id == 0 || seen[id] {
				t.Fatalf("seed %d: id %v is zero or comes twice", seed, id)
			}
			seen[id] = true
		}
	}
}

func TestRecordingSubscribingAndClosingDoNotDisturbEachOther(t *testing.T) {
	tr, _ := newTracer(16)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				tr.Record(trace.Span{Kind: "k"})
				tr.Recent(4)
			}
		})
		wg.Go(func() {
			for range 50 {
				s := tr.Subscribe(trace.Filter{}, 1)
				<-s.Spans()
				s.Close()
			}
		})
	}
	stop := make(chan struct{})
	feeder := make(chan struct{})
	go func() {
		defer close(feeder)
		for {
			select {
			case <-stop:
				return
			default:
				tr.Record(trace.Span{Kind: "feed"})
			}
		}
	}()
	wg.Wait()
	close(stop)
	<-feeder
}
