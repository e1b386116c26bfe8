package console

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"troupe/internal/histogram"
)

// metrics serves /metrics. Names that begin with kafka_ are those under which Kafka's own metrics customarily stand in
// Prometheus, so that dashboards and alerts made for Kafka go on working; docs/operations/observability.md lists all.
func (s *Server) metrics() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collector(s.collectNode), collector(s.collectController), collector(s.collectQuorum), collector(s.collectRequests), collector(s.collectWaiting),
		collector(s.collectDisks), collector(s.collectPeers), collector(s.collectMembers), collector(s.collectActors),
	)
	if s.deps.Node.Config.Roles.Broker { // a controller alone must not look like a broker without partitions
		r.MustRegister(
			collector(s.collectBroker), collector(s.collectReplicas), collector(s.collectReplication), collector(s.collectTraffic), collector(s.collectLogs),
			collector(s.collectCleaners), collector(s.collectGroups), collector(s.collectLag),
		)
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// collector reads what the broker counts, when it is asked. Nothing is kept twice.
type collector func(emitter)

// Describe is part of prometheus.Collector. It names nothing, which is how a collector says that its series come and go.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect is part of prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) { c(emitter{ch}) }

// emitter hands series on to the registry. A series that breaks a rule of Prometheus is a mistake of this package and
// panics, which fails the one scrape.
type emitter struct{ ch chan<- prometheus.Metric }

// desc names a metric and its labels; values come when the collector is asked.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) counter(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// seconds gives durations as a histogram in seconds, the form that can be added up over brokers.
func (e emitter) seconds(d *prometheus.Desc, c *histogram.Counts, labels ...string) {
	e.ch <- prometheus.MustNewConstHistogram(d, c.Count, c.Sum.Seconds(), c.Cumulative(), labels...)
}

// kafkaQuantiles are those that Kafka gives of each of its histograms.
var kafkaQuantiles = []float64{0.5, 0.75, 0.95, 0.98, 0.99, 0.999}

// millis gives durations as Kafka does: quantiles in milliseconds of the last minute or two, beside the count and sum of
// all.
func (e emitter) millis(d *prometheus.Desc, all, recent *histogram.Counts, labels ...string) {
	quantiles := make(map[float64]float64, len(kafkaQuantiles))
	for _, q := range kafkaQuantiles {
		quantiles[q] = inMillis(recent.Quantile(q))
	}
	e.ch <- prometheus.MustNewConstSummary(d, all.Count, inMillis(all.Sum), quantiles, labels...)
}

// inMillis keeps whole microseconds.
func inMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
