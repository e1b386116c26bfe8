package console

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/replica"
)

// copyMetric is a counter of replication. Kafka has it for the broker, not by topic.
type copyMetric struct {
	desc  *prometheus.Desc
	value func(*replica.Counts) *atomic.Int64
}

var copyMetrics = []copyMetric{
	{replicaManager("isrshrinks_total", "Replicas that left the ISR of a partition led here, counted by change."),
		func(c *replica.Counts) *atomic.Int64 { return &c.Shrinks }},
	{replicaManager("isrexpands_total", "Replicas that joined the ISR of a partition led here, counted by change."),
		func(c *replica.Counts) *atomic.Int64 { return &c.Expansions }},
	{replicaManager("failedisrupdates_total", "Changes of ISRs that the controller has refused."),
		func(c *replica.Counts) *atomic.Int64 { return &c.Refused }},
	{desc("kafka_server_brokertopicmetrics_replicationbytesin_total", "Bytes of records copied from leaders."),
		func(c *replica.Counts) *atomic.Int64 { return &c.CopiedIn }},
	{desc("kafka_server_brokertopicmetrics_replicationbytesout_total", "Bytes of records given to followers."),
		func(c *replica.Counts) *atomic.Int64 { return &c.CopiedOut }},
	{desc("kafka_server_brokertopicmetrics_reassignmentbytesin_total", "Bytes of records copied of partitions that move here."),
		func(c *replica.Counts) *atomic.Int64 { return &c.MovedIn }},
}

var (
	followerMaxLag = desc("kafka_server_replicafetchermanager_maxlag",
		"Records that the replica here lacks which is furthest behind its leader.", "clientId")
	throttledOut = desc("kafka_server_leaderreplication_byte_rate",
		"Bytes a second given to followers of throttled replicas, over the windows of leader.replication.throttled.rate.")
	throttledIn = desc("kafka_server_followerreplication_byte_rate",
		"Bytes a second fetched of throttled replicas, over the windows of follower.replication.throttled.rate.")
	throttledWithin = desc("kafka_server_alterlogdirsreplication_byte_rate",
		"Bytes a second that moves between log directories copy, over the windows of replica.alter.log.dirs.io.max.bytes.per.second.")
	followerLag = desc("kafka_server_fetcherlagmetrics_consumerlag",
		"Records that a replica here lacks of what its leader has committed.", "clientId", "topic", "partition")
)

// collectReplication tells what replicas here copied and are behind. The greatest lag is of all, single ones are those of the
// partitions that have series of their own.
func (s *Server) collectReplication(e emitter) {
	n := s.deps.Node
	for _, m := range copyMetrics {
		e.counter(m.desc, float64(m.value(&n.Stats.Replication).Load()))
	}
	rates := s.deps.Throttled()
	e.gauge(throttledOut, rates.Leader)
	e.gauge(throttledIn, rates.Follower)
	e.gauge(throttledWithin, rates.Directories)
	worst := int64(0)
	for _, h := range n.Replicas.All() {
		if h.Status().Follower {
			worst = max(worst, h.Lag())
		}
	}
	e.gauge(followerMaxLag, float64(worst), "Replica")
	logs, _ := s.heldLogs(partitionBudget, func(string) bool { return true })
	image := n.Image()
	for _, l := range logs {
		if p, known := image.Partition(l.TP); known && l.Status().Follower {
			fetcher := "ReplicaFetcherThread-0-" + strconv.Itoa(int(p.Leader))
			e.gauge(followerLag, float64(l.Lag()), fetcher, l.TP.Topic, strconv.Itoa(int(l.TP.Partition)))
		}
	}
}
