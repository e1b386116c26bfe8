package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"troupe/actors/trace"
)

// queueLength is how many spans may wait for a reader of a stream before some are dropped.
const queueLength = 4096

// traceQuery is the query of GET and POST /trace.
//
//	sample=1/1000 or sample=1000        one request of so many; 0 or off for none
//	actor=PREFIX kind=K actorKind=K     messages and requests that match, whether they are sampled or not
//	recent=N                            the last N spans that are kept, then the end
//	limit=N                             ends after N spans
type traceQuery struct {
	rule   trace.Rule
	filter trace.Filter
	recent int
	limit  int
}

// parseTraceQuery reads the query of either method. A filter that is empty asks for nothing; a sample of 0 neither.
func parseTraceQuery(q url.Values) (traceQuery, error) {
	t := traceQuery{filter: trace.Filter{Actor: q.Get("actor"), ActorKind: q.Get("actorKind"), Message: q.Get("kind")}}
	var err error
	if t.rule.OneIn, err = parseSample(q.Get("sample")); err != nil {
		return t, err
	}
	if t.filter != (trace.Filter{}) {
		t.rule.Filters = []trace.Filter{t.filter}
	}
	if t.recent, err = count(q, "recent"); err != nil {
		return t, err
	}
	t.limit, err = count(q, "limit")
	return t, err
}

// parseSample takes 1/N or N; a sample is not given as a share, which would have to be rounded.
func parseSample(text string) (oneIn int, err error) {
	if text == "" || text == "off" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(text, "1/"))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("sample=%s: want 1/N, such as 1/1000, or off", text)
	}
	return n, nil
}

// rule tells what is traced whether anybody watches or not.
func (s *Server) rule(w http.ResponseWriter, _ *http.Request) { answer(w, s.deps.Tracer.Rule()) }

// setRule replaces the standing rule, whose answer it gives. Without parameters nothing is traced any more.
func (s *Server) setRule(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q, err := parseTraceQuery(r.Form)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.deps.Tracer.SetRule(q.rule)
	s.deps.Log.Info("tracing rule set", "oneIn", q.rule.OneIn, "filters", len(q.rule.Filters))
	s.rule(w, r)
}

// trace streams finished spans, a JSON object a line, until the client leaves. What the query asks for is traced for
// as long as the stream lasts, beside what the standing rule asks for: nothing is left switched on behind.
func (s *Server) trace(w http.ResponseWriter, r *http.Request) {
	q, err := parseTraceQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	out := spanWriter{out: http.NewResponseController(w), lines: json.NewEncoder(w), follow: follow{filter: q.filter, kinds: s.kindOf}, left: q.limit}
	if q.recent > 0 {
		for _, span := range s.deps.Tracer.Recent(q.recent) {
			if !out.write(span) {
				return
			}
		}
		return
	}
	spans := s.deps.Tracer.Subscribe(trace.Filter{}, queueLength)
	defer spans.Close()
	defer s.deps.Tracer.AddRule(q.rule)()
	if out.out.Flush() != nil {
		return
	}
	for {
		select {
		case span := <-spans.Spans():
			if !out.write(span) || len(spans.Spans()) == 0 && !out.caughtUp(spans.Dropped()) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// kindOf is the kind of a living actor, or that of connections.
func (s *Server) kindOf(receiver string) string {
	if ref, found := s.deps.System.Find(receiver); found {
		return ref.Kind()
	}
	return trace.ConnectionKind
}

// spanWriter writes the lines of one stream.
type spanWriter struct {
	out     *http.ResponseController
	lines   *json.Encoder
	follow  follow
	left    int // spans until the end; 0 for without end
	dropped uint64
}

// write tells whether the stream goes on.
func (o *spanWriter) write(s trace.Span) bool {
	for _, ready := range o.follow.admit(s) {
		if o.lines.Encode(&ready) != nil || o.left == 1 {
			return false
		}
		o.left = max(o.left-1, 0)
	}
	return true
}

// caughtUp flushes when no more spans wait, after a line that owns up to those that were lost.
func (o *spanWriter) caughtUp(dropped uint64) bool {
	if dropped > o.dropped {
		o.dropped = dropped
		if o.lines.Encode(map[string]uint64{"dropped": dropped}) != nil {
			return false
		}
	}
	return o.out.Flush() == nil
}
