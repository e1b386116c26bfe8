package connection

import (
	"errors"
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

// GroupOptions maps the consumer properties that make a member of a group. What was marked is committed every
// auto.commit.interval.ms, before a partition is given up, and at the end.
//
// A rebalance waits from a poll until AllowRebalance, as the Java consumer rebalances inside its poll only: what is
// printed meanwhile is committed before another member gets the partition, and so is printed once.
func GroupOptions(props kafkatext.Properties, groupID string) ([]kgo.Opt, error) {
	opts := []kgo.Opt{kgo.ConsumerGroup(groupID), kgo.BlockRebalanceOnPoll()}
	member, err := protocolOptions(props)
	if err != nil {
		return nil, err
	}
	opts = append(opts, member...)
	begin := &positions{
		commits: !strings.EqualFold(props["enable.auto.commit"], "false"), committed: props["isolation.level"] == "read_committed",
	}
	opts = append(opts, begin.options()...)
	if !begin.commits {
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
	wait, err := Milliseconds(props, "max.poll.interval.ms", pollInterval)
	if err != nil {
		return nil, err
	}
	return append(opts, kgo.RebalanceTimeout(wait)), nil
}

// protocolOptions reads group.protocol and the properties that only one of the two protocols has. In the classic one the
// members decide on their session timeout, their heartbeats and, by their leader, who reads what.
func protocolOptions(props kafkatext.Properties) ([]kgo.Opt, error) {
	switch protocol := props["group.protocol"]; strings.ToLower(protocol) {
	case "", "classic":
	case "consumer":
		return serverSide(props)
	default:
		return nil, fmt.Errorf("Invalid value %s for configuration group.protocol: "+
			"String must be one of (case insensitive): CONSUMER, CLASSIC", protocol)
	}
	balancers, err := balancersOf(props)
	if err != nil {
		return nil, err
	}
	session, err := Milliseconds(props, "session.timeout.ms", sessionTimeout)
	if err != nil {
		return nil, err
	}
	heartbeat, err := Milliseconds(props, "heartbeat.interval.ms", heartbeatInterval)
	switch {
	case err != nil:
		return nil, err
	case heartbeat >= session:
		return nil, errors.New("Heartbeat must be set lower than the session timeout")
	}
	return []kgo.Opt{kgo.Balancers(balancers...), kgo.SessionTimeout(session), kgo.HeartbeatInterval(heartbeat)}, nil
}

// serverSide maps the protocol in which the coordinator assigns the partitions (KIP-848) and sets the times of members.
func serverSide(props kafkatext.Properties) ([]kgo.Opt, error) {
	for _, key := range []string{"partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"} {
		if _, set := props[key]; set {
			return nil, fmt.Errorf("%s cannot be set when group.protocol=CONSUMER", key)
		}
	}
	// kgo names the coordinator's assignors by its own ones: sticky is uniform, the coordinator's default.
	switch assignor := props["group.remote.assignor"]; assignor {
	case "", "uniform":
		return []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer())}, nil
	case "range":
		return []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer())}, nil
	default:
		return nil, fmt.Errorf("group.remote.assignor=%s: uniform or range is expected here", assignor)
	}
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
