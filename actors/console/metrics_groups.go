package console

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/group"
)

func groupMetric(name, help string, labels ...string) *prometheus.Desc {
	return desc("kafka_server_group_coordinator_metrics_"+name, help, labels...)
}

func classicMetric(name, help string) *prometheus.Desc {
	return desc("kafka_coordinator_group_groupmetadatamanager_"+name, help)
}

var (
	groupCount     = groupMetric("group_count", "Groups coordinated here, by protocol.", "protocol")
	consumerCount  = groupMetric("consumer_group_count", "Groups of the consumer protocol coordinated here, by state.", "state")
	groupPartition = groupMetric("num_partitions", "Partitions of groups that are coordinated here, by the state of the coordinator.", "state")
	groupOffsets   = classicMetric("numoffsets", "Offsets that groups coordinated here have committed.")
	classicCount   = classicMetric("numgroups", "Groups of the classic protocol coordinated here.")
)

// Kafka gives classic groups a metric a state, and those of the consumer protocol a label.
var classicStates = map[string]*prometheus.Desc{
	"Stable":              classicMetric("numgroupsstable", "Classic groups whose members have their assignment."),
	"PreparingRebalance":  classicMetric("numgroupspreparingrebalance", "Classic groups whose members are joining."),
	"CompletingRebalance": classicMetric("numgroupscompletingrebalance", "Classic groups that wait for their leader's assignment."),
	"Empty":               classicMetric("numgroupsempty", "Classic groups without members."),
	"Dead":                classicMetric("numgroupsdead", "Classic groups that are being removed."),
}

var consumerStates = []string{"Empty", "Assigning", "Reconciling", "Stable", "Dead"}

// groupProtocols are the kinds of groups that Kafka counts, whether this broker coordinates any or not.
var groupProtocols = []string{"classic", "consumer", "share", "streams"}

// Kafka gives a rate and a count of each; Prometheus makes rates by itself.
var groupEvents = map[group.Event]*prometheus.Desc{
	group.OffsetCommitted:    groupMetric("offset_commit_count", "Offsets committed, one a partition."),
	group.OffsetExpired:      groupMetric("offset_expiration_count", "Offsets that expired (offsets.retention.minutes)."),
	group.OffsetDeleted:      groupMetric("offset_deletion_count", "Offsets deleted by request."),
	group.ClassicRebalanced:  groupMetric("group_completed_rebalance_count", "Rebalances of classic groups that came to an assignment."),
	group.ConsumerRebalanced: groupMetric("consumer_group_rebalance_count", "Rebalances of groups of the consumer protocol."),
}

// collectGroups gives what happened up to now, and how many groups there were at the last round (group.lag.interval.ms).
func (s *Server) collectGroups(e emitter) {
	for event, d := range groupEvents {
		e.counter(d, float64(s.deps.Node.Groups.Counters[event].Load()))
	}
	r := s.deps.Lag.Last()
	if r == nil {
		return
	}
	byProtocol, classic, consumer := map[string]int{}, map[string]int{}, map[string]int{}
	for kind, n := range r.Kinds {
		byProtocol[kind.Type] += n
		switch kind.Type {
		case "classic":
			classic[kind.State] += n
		case "consumer":
			consumer[kind.State] += n
		}
	}
	for _, p := range groupProtocols {
		e.gauge(groupCount, float64(byProtocol[p]), p)
	}
	e.gauge(classicCount, float64(byProtocol["classic"]))
	for state, d := range classicStates {
		e.gauge(d, float64(classic[state]))
	}
	for _, state := range consumerStates {
		e.gauge(consumerCount, float64(consumer[state]), strings.ToLower(state))
	}
	e.gauge(groupOffsets, float64(r.Offsets))
	e.gauge(groupPartition, float64(r.Coordinators.Active), "active")
	e.gauge(groupPartition, float64(r.Coordinators.Loading), "loading")
	e.gauge(groupPartition, float64(r.Coordinators.Failed), "failed")
}
