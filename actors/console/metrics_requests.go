package console

import (
	"maps"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/api"
	"troupe/codec/kerr"
	"troupe/internal/histogram"
)

var (
	requestsTotal = desc("kafka_network_requestmetrics_requests_total", "Requests answered, by API and version.", "request", "version")
	totalTimeMs   = desc("kafka_network_requestmetrics_totaltimems",
		"Time from the arrival of a request to its written reply, in milliseconds; quantiles of the last minute or two.", "request")
	requestSeconds = desc("troupe_request_seconds", "Time from the arrival of a request to its written reply.", "request")
	throttleTimeMs = stageMetric("throttletimems", "Delay by a quota: none, since there are no quotas")
	purgatorySize  = desc("kafka_server_delayedoperationpurgatory_purgatorysize",
		"Requests that wait, by API: a Fetch for records, a Produce for disk and replicas, others for the controller.", "delayedOperation")
	errorsTotal = desc("kafka_network_requestmetrics_errors_total",
		"Error codes answered, by API; NONE too. A reply may have many, one a partition in most.", "request", "error")
)

func stageMetric(name, help string) *prometheus.Desc {
	return desc("kafka_network_requestmetrics_"+name, help+", in milliseconds; quantiles of the last minute or two.", "request")
}

// stageTimes add up to the total time.
var stageTimes = map[api.Stage]*prometheus.Desc{
	api.Queue:      stageMetric("requestqueuetimems", "Wait for credits and for earlier requests of the connection"),
	api.Local:      stageMetric("localtimems", "Work of this broker"),
	api.Remote:     stageMetric("remotetimems", "Wait for others: records, members of a group, the controller"),
	api.ReplyQueue: stageMetric("responsequeuetimems", "Wait for the replies to earlier requests of the connection"),
	api.Send:       stageMetric("responsesendtimems", "Encoding and writing"),
}

// delayedOperations are Kafka's names for what waits, by the API.
var delayedOperations = map[string]string{
	"Produce": "Produce", "Fetch": "Fetch", "DeleteRecords": "DeleteRecords", "ElectLeaders": "ElectLeader",
}

// collectWaiting tells of those that Kafka has, which are 0 where nothing waits.
func (s *Server) collectWaiting(e emitter) {
	sizes := map[string]int{}
	for h, n := range s.deps.Waiting() {
		sizes[h.Name] += n
	}
	for name, operation := range delayedOperations {
		e.gauge(purgatorySize, float64(sizes[name]), operation)
	}
}

// tally is what is known of the requests of one name.
type tally struct {
	all, recent histogram.Counts
	stages      map[api.Stage]stageTally
	versions    map[int]int64
	errors      map[kerr.Code]int64
}

type stageTally struct{ all, recent histogram.Counts }

func (s *Server) tallyOf(r requestTime) tally {
	t := tally{all: r.all, recent: r.recent, stages: map[api.Stage]stageTally{}, versions: map[int]int64{}, errors: r.stats.Errors()}
	for version := range r.stats.ByVersion {
		if n := r.stats.ByVersion[version].Load(); n > 0 {
			t.versions[version] = n
		}
	}
	for stage := range stageTimes {
		all := r.stats.Stage(stage, &r.all)
		t.stages[stage] = stageTally{all, s.times.recentStage(r.handler.Key, stage, all)}
	}
	return t
}

// plus adds up two names of one API.
func (t tally) plus(o tally) tally {
	sum := tally{all: t.all.Plus(o.all), recent: t.recent.Plus(o.recent), stages: map[api.Stage]stageTally{},
		versions: maps.Clone(t.versions), errors: maps.Clone(t.errors)}
	for stage, times := range t.stages {
		sum.stages[stage] = stageTally{times.all.Plus(o.stages[stage].all), times.recent.Plus(o.stages[stage].recent)}
	}
	for version, n := range o.versions {
		sum.versions[version] += n
	}
	for code, n := range o.errors {
		sum.errors[code] += n
	}
	return sum
}

// collectRequests tells of each API that was asked for. A fetch counts as FetchConsumer or FetchFollower beside Fetch, as in
// Kafka: sums over all requests count it twice there too. Times are not split by version, which would be a histogram for each.
func (s *Server) collectRequests(e emitter) {
	var fetches *tally
	for _, r := range s.times.read() {
		t, name := s.tallyOf(r), r.handler.Name
		if name == "Fetch" || r.handler == fetchFollower {
			if fetches != nil {
				both := fetches.plus(t)
				fetches = &both
			} else {
				fetches = &t
			}
			if name == "Fetch" {
				name = "FetchConsumer"
			}
			e.requests(name, &t)
			continue
		}
		e.requests(name, &t)
		e.seconds(requestSeconds, &t.all, name)
	}
	if fetches != nil {
		e.requests("Fetch", fetches)
		e.seconds(requestSeconds, &fetches.all, "Fetch")
	}
}

// requests tells of one name.
func (e emitter) requests(name string, t *tally) {
	for version, n := range t.versions {
		e.counter(requestsTotal, float64(n), name, strconv.Itoa(version))
	}
	for code, n := range t.errors {
		e.counter(errorsTotal, float64(n), name, code.Name())
	}
	e.millis(totalTimeMs, &t.all, &t.recent, name)
	e.millis(throttleTimeMs, &histogram.Counts{Count: t.all.Count}, &histogram.Counts{}, name)
	for stage, times := range t.stages {
		e.millis(stageTimes[stage], &times.all, &times.recent, name)
	}
}
