package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/replica"
	"troupe/partitionlog"
)

// partitionBudget is how many partitions have series of their own: the largest of those that hold records.
const partitionBudget = 1000

func logMetric(name, help string) *prometheus.Desc {
	return desc("kafka_log_log_"+name, help, "topic", "partition")
}

func partitionMetric(name, help string) *prometheus.Desc {
	return desc("kafka_cluster_partition_"+name, help, "topic", "partition")
}

var (
	logSize     = logMetric("size", "Bytes of the log on disk.")
	logEnd      = logMetric("logendoffset", "Offset that the next record gets.")
	logStart    = logMetric("logstartoffset", "Offset of the first record that is kept.")
	logSegments = logMetric("numlogsegments", "Segments of the log.")
	logsOmitted = desc("troupe_log_series_omitted", "Partitions with records that are not shown one by one, because there are too many.")

	// Of the leader alone, as in Kafka: followers do not know who else is in sync.
	partitionReplicas = partitionMetric("replicascount", "Replicas of a partition led here.")
	partitionISR      = partitionMetric("insyncreplicascount", "In-sync replicas of a partition led here.")
	partitionUnder    = partitionMetric("underreplicated", "1 if a partition led here has fewer in-sync replicas than replicas.")
	partitionUnderMin = partitionMetric("underminisr", "1 if a partition led here has fewer in-sync replicas than min.insync.replicas.")
	partitionAtMin    = partitionMetric("atminisr", "1 if a partition led here has just min.insync.replicas in sync.")
	partitionUnstable = partitionMetric("laststableoffsetlag", "Records of a partition led here that wait for the end of a transaction.")
)

// heldLog is a replica that holds records, at one moment.
type heldLog struct {
	*replica.Handle
	view *partitionlog.View
	size int64
}

// heldLogs lists the logs with records, the largest first, at most limit of them, and tells how many there are.
func (s *Server) heldLogs(limit int, wanted func(topic string) bool) (logs []heldLog, all int) {
	for _, h := range s.deps.Node.Replicas.All() {
		if v := h.View(); v != nil && v.LogEnd > 0 && wanted(h.TP.Topic) {
			logs = append(logs, heldLog{h, v, h.Size()})
		}
	}
	slices.SortFunc(logs, func(a, b heldLog) int {
		return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.TP.Topic, b.TP.Topic), cmp.Compare(a.TP.Partition, b.TP.Partition))
	})
	return logs[:min(limit, len(logs))], len(logs)
}

// collectLogs tells of partitions one by one. Of 10,000 idle ones nobody wants 100,000 series that say 0.
func (s *Server) collectLogs(e emitter) {
	logs, all := s.heldLogs(partitionBudget, func(string) bool { return true })
	e.gauge(logsOmitted, float64(all-len(logs)))
	image := s.deps.Node.Image()
	for _, l := range logs {
		topic, number := l.TP.Topic, strconv.Itoa(int(l.TP.Partition))
		e.gauge(logSize, float64(l.size), topic, number)
		e.gauge(logEnd, float64(l.view.LogEnd), topic, number)
		e.gauge(logStart, float64(l.view.LogStart), topic, number)
		e.gauge(logSegments, float64(l.view.Segments()), topic, number)
		p, known := image.Partition(l.TP)
		if !known || !l.Status().Leader {
			continue
		}
		minISR := min(l.Config().MinISR, len(p.Replicas))
		e.gauge(partitionReplicas, float64(len(p.Replicas)), topic, number)
		e.gauge(partitionISR, float64(len(p.ISR)), topic, number)
		e.gauge(partitionUnder, float64(one(len(p.ISR) < len(p.Replicas))), topic, number)
		e.gauge(partitionUnderMin, float64(one(len(p.ISR) < minISR)), topic, number)
		e.gauge(partitionAtMin, float64(one(len(p.ISR) == minISR)), topic, number)
		e.gauge(partitionUnstable, float64(l.view.HighWatermark-l.view.LastStable), topic, number)
	}
}
