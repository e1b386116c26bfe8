package console

import "strconv"

var (
	requestsTotal = desc("kafka_network_requestmetrics_requests_total", "Requests answered, by API and version.", "request", "version")
	totalTimeMs   = desc("kafka_network_requestmetrics_totaltimems",
		"Time from the arrival of a request to its written reply, in milliseconds; quantiles of the last minute or two.", "request")
	requestSeconds = desc("troupe_request_seconds", "Time from the arrival of a request to its written reply.", "request")
)

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
		}
		e.seconds(requestSeconds, &r.all, r.handler.Name)
	}
}
