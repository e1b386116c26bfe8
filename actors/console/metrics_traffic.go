package console

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/api"
)

// trafficMetric is one of Kafka's BrokerTopicMetrics. The series with an empty topic is the sum over all topics, those
// above the budget and deleted ones too: for Prometheus an empty label is none, which is how Kafka's exporter has it.
type trafficMetric struct {
	desc  *prometheus.Desc
	value func(*api.Traffic) *atomic.Int64
	total bool // Kafka gives no series by topic
}

func traffic(name, help string, value func(*api.Traffic) *atomic.Int64) trafficMetric {
	return trafficMetric{desc: desc("kafka_server_brokertopicmetrics_"+name+"_total", help, "topic"), value: value}
}

var trafficMetrics = []trafficMetric{
	traffic("messagesin", "Records appended.", func(t *api.Traffic) *atomic.Int64 { return &t.MessagesIn }),
	traffic("bytesin", "Bytes of record batches appended.", func(t *api.Traffic) *atomic.Int64 { return &t.BytesIn }),
	traffic("bytesout", "Bytes of records given to consumers.", func(t *api.Traffic) *atomic.Int64 { return &t.BytesOut }),
	traffic("bytesrejected", "Bytes of record batches that break a rule.", func(t *api.Traffic) *atomic.Int64 { return &t.BytesRejected }),
	traffic("totalproducerequests", "Partitions of produce requests.", func(t *api.Traffic) *atomic.Int64 { return &t.ProduceRequests }),
	traffic("totalfetchrequests", "Partitions of fetch answers.", func(t *api.Traffic) *atomic.Int64 { return &t.FetchRequests }),
	traffic("failedproducerequests", "Partitions of produce requests that failed unexpectedly or held invalid records.",
		func(t *api.Traffic) *atomic.Int64 { return &t.FailedProduce }),
	traffic("failedfetchrequests", "Partitions of fetch requests that failed unexpectedly.",
		func(t *api.Traffic) *atomic.Int64 { return &t.FailedFetch }),
	{desc("kafka_server_brokertopicmetrics_invalidmessagecrcrecords_total", "Record batches that were corrupt.", "topic"),
		func(t *api.Traffic) *atomic.Int64 { return &t.CorruptBatches }, true},
	{desc("kafka_server_brokertopicmetrics_invalidoffsetorsequencerecords_total", "Record batches whose offsets, sequence numbers or count cannot be.", "topic"),
		func(t *api.Traffic) *atomic.Int64 { return &t.MisnumberedBatches }, true},
	{desc("kafka_server_brokertopicmetrics_nokeycompactedtopicrecords_total", "Records without a key that were refused for compacted topics.", "topic"),
		func(t *api.Traffic) *atomic.Int64 { return &t.KeylessRecords }, true},
}

// collectTraffic also ends the series of deleted topics: nobody else needs to know that they are gone, and a topic that
// comes back begins at 0.
func (s *Server) collectTraffic(e emitter) {
	image, stats := s.deps.Node.Image(), s.deps.Node.Stats
	stats.Forget(func(topic string) bool {
		_, there := image.Topic(topic)
		return !there
	})
	all, topics := stats.Total(), stats.Topics()
	for _, m := range trafficMetrics {
		e.counter(m.desc, float64(m.value(all).Load()), "")
		if m.total {
			continue
		}
		for name, t := range topics {
			e.counter(m.desc, float64(m.value(t).Load()), name)
		}
	}
}
