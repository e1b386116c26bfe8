package console

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/api"
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

// collectRequests tells of each API that was asked for. A fetch counts as FetchConsumer beside Fetch, as in Kafka: sums
// over all requests count it twice there too. Times are not split by version, which would be a histogram for each.
func (s *Server) collectRequests(e emitter) {
	for _, r := range s.times.read() {
		names := []string{r.handler.Name}
		if r.handler.Name == "Fetch" {
			names = append(names, "FetchConsumer")
		}
		for _, name := range names {
			for version := range r.stats.ByVersion {
				if n := r.stats.ByVersion[version].Load(); n > 0 {
					e.counter(requestsTotal, float64(n), name, strconv.Itoa(version))
				}
			}
			e.millis(totalTimeMs, &r.all, &r.recent, name)
			e.millis(throttleTimeMs, &histogram.Counts{Count: r.all.Count}, &histogram.Counts{}, name)
			for code, n := range r.stats.Errors() {
				e.counter(errorsTotal, float64(n), name, code.Name())
			}
		}
		for stage, d := range stageTimes {
			all := r.stats.Stage(stage, &r.all)
			recent := s.times.recentStage(r.handler.Key, stage, all)
			for _, name := range names {
				e.millis(d, &all, &recent, name)
			}
		}
		e.seconds(requestSeconds, &r.all, r.handler.Name)
	}
}
