package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"troupe/actors/trace"
)

// stream is GET /trace as a client reads it.
type stream struct {
	n     *node
	lines *bufio.Scanner
	leave context.CancelFunc
}

func (n *node) stream(query string) *stream {
	n.t.Helper()
	ctx, leave := context.WithCancel(n.context())
	req, err := http.NewRequestWithContext(ctx, "GET", n.admin+"/trace"+query, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { leave(); resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		n.t.Fatalf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return &stream{n, bufio.NewScanner(resp.Body), leave}
}

// next reads a span; false at the end of the stream.
func (s *stream) next() (span trace.Span, ok bool) {
	s.n.t.Helper()
	if !s.lines.Scan() {
		return span, false
	}
	if err := json.Unmarshal(s.lines.Bytes(), &span); err != nil {
		s.n.t.Fatalf("%v: %s", err, s.lines.Bytes())
	}
	return span, true
}

// traceOf reads until the reply of a request of that name has been written and gives the spans of its trace by kind and
// the first part of the receiver. It waits for those that are wanted: an actor's span ends after what it sent has gone on,
// maybe after the reply.
func (s *stream) traceOf(request string, wanted ...string) map[string]trace.Span {
	s.n.t.Helper()
	byTrace := map[trace.TraceID]map[string]trace.Span{}
	var of trace.TraceID
	for {
		span, ok := s.next()
		if !ok {
			s.n.t.Fatalf("the stream ended (%v) before a %s with %v; there was %v", s.lines.Err(), request, wanted, byTrace[of])
		}
		if byTrace[span.TraceID] == nil {
			byTrace[span.TraceID] = map[string]trace.Span{}
		}
		where, _, _ := strings.Cut(span.Receiver, "/")
		if name := where + " " + span.Kind; byTrace[span.TraceID][name].SpanID == 0 { // later ones are not looked at
			byTrace[span.TraceID][name] = span
		}
		if span.Kind == request && span.Cause == 0 {
			of = span.TraceID
		}
		missing := func(name string) bool { return byTrace[of][name].SpanID == 0 }
		if of != 0 && !slices.ContainsFunc(wanted, missing) {
			return byTrace[of]
		}
	}
}

// produceSpans are what a Produce leads to; the last one follows from the first, the others each from the one before it.
var produceSpans = []string{
	"listeners Produce", "replicas replica.append", "replicas EndBatch", "disks disk.appends", "disks EndBatch", "replicas disk.finished",
	"listeners reply",
}

func TestAProduceIsOneTraceFromTheConnectionToTheDiskAndBack(t *testing.T) {
	n := startNode(t)
	n.create("orders", 1)
	s := n.stream("?sample=1/1")
	n.produce("orders", 0, "a")
	chain := produceSpans[:len(produceSpans)-1]
	spans := s.traceOf("Produce", produceSpans...)
	for i, name := range chain {
		span := spans[name]
		if i > 0 && span.Cause != spans[chain[i-1]].SpanID {
			t.Errorf("%q is not caused by %q", name, chain[i-1])
		}
		if span.Started.Before(span.Enqueued) || span.Ended.Before(span.Started) || span.Broker != 1 {
			t.Errorf("%q: %+v", name, span)
		}
	}
	reply, written := spans["listeners reply"], spans["replicas disk.finished"]
	if reply.Cause != spans["listeners Produce"].SpanID || reply.Enqueued.Before(written.Started) {
		t.Errorf("the reply %+v does not come of the request after its write was reported, %+v", reply, written)
	}
}

func TestAChangeOfTopicsIsOneTraceThroughTheController(t *testing.T) {
	n := startNode(t)
	s := n.stream("?sample=1/1")
	n.create("orders", 1)
	s.traceOf("CreateTopics",
		"controller controller.request", "disks disk.task", "controller controller.written", "metadata metadata.apply", "replicas shard.host",
		"metadata metadata.hosted", "controller controller.applied")
}

func TestAFilterTracesARequestAndAllThatItLedTo(t *testing.T) {
	n := startNode(t)
	n.create("orders", 1)
	s := n.stream("?actor=listeners/&kind=Produce")
	n.produce("orders", 0, "a") // and Metadata, InitProducerId and others
	if spans := s.traceOf("Produce", produceSpans...); len(spans) != len(produceSpans) {
		t.Errorf("%d spans: %v", len(spans), spans)
	}
	kept := n.stream("?recent=1000")
	for span, ok := kept.next(); ok; span, ok = kept.next() {
		if span.Cause == 0 && span.Kind != "Produce" {
			t.Errorf("a %s was traced", span.Kind)
		}
	}
}

func TestAnActorsMessagesAreTracedByKindOfActor(t *testing.T) {
	n := startNode(t)
	n.create("orders", 1)
	s := n.stream("?actorKind=replica&kind=replica.append&limit=3")
	n.produce("orders", 0, "a")
	var got []string
	for span, ok := s.next(); ok; span, ok = s.next() {
		got = append(got, span.Kind)
	}
	if strings.Join(got, " ") != "replica.append EndBatch disk.appends" {
		t.Errorf("the stream brought %v and ended", got)
	}
}

func TestWhatAStreamAsksForIsTracedUntilItsClientLeaves(t *testing.T) {
	n := startNode(t)
	n.create("orders", 1)
	s := n.stream("?sample=1/1")
	n.produce("orders", 0, "a")
	s.traceOf("Produce")
	s.leave()
	newest := func() string {
		_, body := n.ask("GET", "/trace?recent=1")
		return body
	}
	n.eventually("nothing is traced any more", func() bool {
		before := newest()
		n.produce("orders", 0, "b")
		return newest() == before
	})
}

func TestTheStandingRuleIsSetByPostAlone(t *testing.T) {
	n := startNode(t, "trace.sample.every=7")
	rule := func() trace.Rule { return read[trace.Rule](n, "/trace/rule") }
	if got := rule(); got.OneIn != 7 || len(got.Filters) != 0 {
		t.Errorf("at the start the rule is %+v, want 1 in 7 of the configuration", got)
	}
	if status, body := n.ask("POST", "/trace?sample=1/100&actor=replicas/&kind=replica.append"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	want := trace.Filter{Actor: "replicas/", Message: "replica.append"}
	if got := rule(); got.OneIn != 100 || len(got.Filters) != 1 || got.Filters[0] != want {
		t.Errorf("the rule is %+v, want 1 in 100 and %+v", got, want)
	}
	n.stream("?sample=1/2&recent=1")
	if got := rule(); got.OneIn != 100 {
		t.Errorf("a GET changed the rule to %+v", got)
	}
	if status, _ := n.ask("POST", "/trace"); status != 200 || rule().OneIn != 0 || len(rule().Filters) != 0 {
		t.Errorf("%d, and the rule is %+v, want none", status, rule())
	}
	for _, bad := range []string{"?sample=1/x", "?sample=-3", "?recent=0", "?limit=x"} {
		for _, method := range []string{"GET", "POST"} {
			if status, body := n.ask(method, "/trace"+bad); status != http.StatusBadRequest || !strings.Contains(body, "want") {
				t.Errorf("%s %s: %d %s", method, bad, status, body)
			}
		}
	}
}
