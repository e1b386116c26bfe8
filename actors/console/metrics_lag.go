package console

import (
	"strconv"

	"troupe/actors/lag"
)

// The names of records that wait are those of the exporters that one would run for Apache Kafka. Their series with an empty
// topic is of the group as a whole.
var (
	lagRecords    = desc("kafka_consumergroup_lag", "Records of a partition that a group has not read (group.lag.partitions).", "consumergroup", "topic", "partition")
	lagSum        = desc("kafka_consumergroup_lag_sum", "Records that a group has not read, of all its partitions.", "consumergroup", "topic")
	lagMax        = desc("troupe_consumergroup_lag_max", "Records that a group has not read, of the partition with most of them.", "consumergroup")
	lagSecondsMax = desc("troupe_consumergroup_lag_seconds_max",
		"Age of the oldest record that a group has not read, in seconds, over all its partitions; 0 when it has read all.", "consumergroup")
	lagSeconds = desc("troupe_consumergroup_lag_seconds",
		"Age of the oldest record of a partition that a group has not read, in seconds (group.lag.partitions).", "consumergroup", "topic", "partition")
	lagOmitted = desc("troupe_consumergroup_lag_series_omitted",
		"Groups, and partitions of groups, that are less far behind than those shown one by one (group.lag.series.max).", "of")
	lagUnknown  = desc("troupe_consumergroup_lag_unknown", "Offsets that groups have committed in partitions of which no leader told.")
	lagMeasured = desc("troupe_consumergroup_lag_measured_seconds", "Time since lags were measured (group.lag.interval.ms).")
)

// collectLag tells of the last round. Before the first there is nothing to tell.
func (s *Server) collectLag(e emitter) {
	r := s.deps.Lag.Last()
	if r == nil {
		return
	}
	e.gauge(lagMeasured, s.deps.Node.Clock.Now().Sub(r.At).Seconds())
	e.gauge(lagUnknown, float64(r.Unknown))
	e.gauge(lagOmitted, float64(r.GroupsOmitted), "groups")
	e.gauge(lagOmitted, float64(r.PartitionsOmitted), "partitions")
	for i := range r.Groups {
		g := &r.Groups[i]
		e.gauge(lagSum, float64(g.Sum), g.ID, "")
		e.gauge(lagMax, float64(g.Records), g.ID)
		if g.Dated {
			e.gauge(lagSecondsMax, g.Age.Seconds(), g.ID)
		}
	}
	for i := range r.Partitions {
		e.partitionLag(&r.Partitions[i])
	}
}

func (e emitter) partitionLag(p *lag.Partition) {
	number := strconv.Itoa(int(p.At.Partition))
	e.gauge(lagRecords, float64(p.Records), p.Group, p.At.Topic, number)
	if p.Dated {
		e.gauge(lagSeconds, p.Age.Seconds(), p.Group, p.At.Topic, number)
	}
}
