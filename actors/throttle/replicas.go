package throttle

import (
	"slices"
	"strconv"
	"strings"

	"troupe/internal/model"
)

// Replicas are those that a quota holds for: the value of leader.replication.throttled.replicas or
// follower.replication.throttled.replicas of a topic.
type Replicas struct {
	all  bool
	some []replica
}

type replica struct {
	partition int32
	broker    model.BrokerID
}

// ParseReplicas reads a value that was checked: "*" or PARTITION:BROKER each. What newer software means by another form
// throttles nothing.
func ParseReplicas(list []string) (r Replicas) {
	for _, s := range list {
		if s == "*" {
			return Replicas{all: true}
		}
		p, b, _ := strings.Cut(s, ":")
		partition, err := strconv.ParseInt(p, 10, 32)
		broker, err2 := strconv.ParseInt(b, 10, 32)
		if err == nil && err2 == nil {
			r.some = append(r.some, replica{int32(partition), model.BrokerID(broker)})
		}
	}
	return r
}

// Has tells whether a partition's replica on a broker is among them.
func (r *Replicas) Has(partition int32, broker model.BrokerID) bool {
	return r.all || len(r.some) > 0 && slices.Contains(r.some, replica{partition, broker})
}
