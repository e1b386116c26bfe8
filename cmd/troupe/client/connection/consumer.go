package connection

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/kafkatext"
)

// Defaults of the Java consumer: session.timeout.ms, heartbeat.interval.ms, auto.commit.interval.ms, and
// max.poll.interval.ms, which is how long a rebalance waits for a member to come back.
const (
	sessionTimeout    = 45 * time.Second
	heartbeatInterval = 3 * time.Second
	commitInterval    = 5 * time.Second
	pollInterval      = 5 * time.Minute
)

// GroupOptions maps the consumer properties that make a member of a classic group. What was marked is committed every
// auto.commit.interval.ms, before a partition is given up, and at the end.
//
// A rebalance waits from a poll until AllowRebalance, as the Java consumer rebalances inside its poll only: what is
// printed meanwhile is committed before another member gets the partition, and so is printed once.
func GroupOptions(props kafkatext.Properties, groupID string) ([]kgo.Opt, error) {
	opts := []kgo.Opt{kgo.ConsumerGroup(groupID), kgo.BlockRebalanceOnPoll()}
	balancers, err := balancersOf(props)
	if err != nil {
		return nil, err
	}
	opts = append(opts, kgo.Balancers(balancers...))
	if strings.EqualFold(props["enable.auto.commit"], "false") {
		opts = append(opts, kgo.DisableAutoCommit())
	} else {
		interval, err := Milliseconds(props, "auto.commit.interval.ms", commitInterval)
		if err != nil {
			return nil, err
		}
		// kgo refuses intervals below 100 ms; nobody can tell the difference to the Java client's.
		opts = append(opts, kgo.AutoCommitMarks(), kgo.AutoCommitInterval(max(interval, 100*time.Millisecond)))
	}
	// A static member keeps its partitions while it restarts (KIP-345).
	if id := props["group.instance.id"]; id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	for _, d := range []struct {
		key string
		def time.Duration
		opt func(time.Duration) kgo.GroupOpt
	}{
		{"session.timeout.ms", sessionTimeout, kgo.SessionTimeout},
		{"max.poll.interval.ms", pollInterval, kgo.RebalanceTimeout},
		{"heartbeat.interval.ms", heartbeatInterval, kgo.HeartbeatInterval},
	} {
		v, err := Milliseconds(props, d.key, d.def)
		if err != nil {
			return nil, err
		}
		opts = append(opts, d.opt(v))
	}
	return opts, nil
}

// balancersOf reads partition.assignment.strategy. The default is the Java consumer's pair, so that a group of both
// clients finds a common strategy; range is used as long as every member knows it.
func balancersOf(props kafkatext.Properties) ([]kgo.GroupBalancer, error) {
	text := props["partition.assignment.strategy"]
	if text == "" {
		return []kgo.GroupBalancer{kgo.RangeBalancer(), kgo.CooperativeStickyBalancer()}, nil
	}
	var balancers []kgo.GroupBalancer
	for _, class := range strings.Split(text, ",") {
		class = strings.TrimSpace(class)
		switch class[strings.LastIndexByte(class, '.')+1:] {
		case "RangeAssignor":
			balancers = append(balancers, kgo.RangeBalancer())
		case "RoundRobinAssignor":
			balancers = append(balancers, kgo.RoundRobinBalancer())
		case "StickyAssignor":
			balancers = append(balancers, kgo.StickyBalancer())
		case "CooperativeStickyAssignor":
			balancers = append(balancers, kgo.CooperativeStickyBalancer())
		default:
			return nil, fmt.Errorf("Invalid value %s for configuration partition.assignment.strategy: Class %s could not be found.", text, class)
		}
	}
	return balancers, nil
}
