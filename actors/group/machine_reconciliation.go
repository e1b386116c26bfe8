package group

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/internal/model"
)

// memberState is where a member stands between the target that it had and the next, in the numbers of its record.
type memberState int8

const (
	settled    memberState = 0 // has all that its target gives it (STABLE)
	unrevoked  memberState = 1 // stays in its epoch until it has let go what it must (UNREVOKED_PARTITIONS)
	unreleased memberState = 2 // waits for partitions that others still hold (UNRELEASED_PARTITIONS)
)

// currentAssignment is how far a member has come on its way to the target. It is immutable.
type currentAssignment struct {
	memberEpoch   int32 // of the target that it has come to
	previousEpoch int32
	state         memberState
	assigned      []assignedPartition // what it may own, sorted
	revoking      []assignedPartition // pending revocation: what it must let go, sorted
}

// topicPartition is a partition by the id of its topic.
type topicPartition struct {
	topic  model.TopicID
	number int32
}

// assignedPartition is a partition that a member has, and the epoch in which it got it.
type assignedPartition struct {
	topicPartition
	epoch int32
}

func compareTopicPartitions(a, b topicPartition) int {
	return cmp.Or(a.topic.Compare(b.topic), cmp.Compare(a.number, b.number))
}

func compareAssigned(a, b assignedPartition) int {
	return compareTopicPartitions(a.topicPartition, b.topicPartition)
}

// lookUp finds a partition in a sorted list.
func lookUp(list []assignedPartition, p topicPartition) (assignedPartition, bool) {
	i, there := slices.BinarySearchFunc(list, p, func(h assignedPartition, p topicPartition) int { return compareTopicPartitions(h.topicPartition, p) })
	if !there {
		return assignedPartition{}, false
	}
	return list[i], true
}

// reached tells whether a member has all of the target of an epoch.
func (s *currentAssignment) reached(epoch int32) bool {
	return s.state == settled && s.memberEpoch == epoch
}

// holds gives the epoch in which the member got a partition that it has, also one that it must let go.
func (s *currentAssignment) holds(p topicPartition) (int32, bool) {
	h, there := lookUp(s.assigned, p)
	if !there {
		h, there = lookUp(s.revoking, p)
	}
	return h.epoch, there
}

// owned is what a member says it has; nil when it says nothing.
type owned map[topicPartition]bool

func ownedOf(topics []kmsg.ConsumerGroupHeartbeatRequestTopic) owned {
	if topics == nil {
		return nil
	}
	o := owned{}
	for _, t := range topics {
		for _, n := range t.Partitions {
			o[topicPartition{t.TopicID, n}] = true
		}
	}
	return o
}

// any tells whether the member may have one of the list still: one that says nothing may.
func (o owned) any(list []assignedPartition) bool {
	return o == nil && len(list) > 0 || slices.ContainsFunc(list, func(h assignedPartition) bool { return o[h.topicPartition] })
}

// within tells whether the member has said what it has, and all of it is in the list.
func (o owned) within(list []assignedPartition) bool {
	// any order: one that is missing is enough.
	for p := range o {
		if _, there := lookUp(list, p); !there {
			return false
		}
	}
	return o != nil
}

// reconciliation is what a member's next current assignment follows from (KIP-848).
type reconciliation struct {
	now             *currentAssignment
	target          assignment
	assignmentEpoch int32 // of the target
	// reads are the topics that it is subscribed to, changed says that they are not what they were.
	reads   map[model.TopicID]bool
	changed bool
	has     owned
	// free tells whether nobody holds a partition.
	free func(topicPartition) bool
}

// next gives the current assignment that follows, or the same one.
//
//	SETTLED      follows a newer target; a changed subscription takes from it what it does not read any more
//	UNREVOKED    follows once nothing of what it must let go is among what it says it has
//	UNRELEASED   looks each time for what has become free
func (r *reconciliation) next() *currentAssignment {
	switch {
	case r.now.state == settled && r.now.memberEpoch == r.assignmentEpoch:
		return r.shrunk()
	case r.now.state == unrevoked && r.has.any(r.now.revoking):
		return r.shrunk()
	}
	return r.advanced()
}

// shrunk takes away what is not subscribed to any more, without a new target.
func (r *reconciliation) shrunk() *currentAssignment {
	if !r.changed {
		return r.now
	}
	var keep, drop []assignedPartition
	for _, h := range r.now.assigned {
		if r.reads[h.topic] {
			keep = append(keep, h)
		} else {
			drop = append(drop, h)
		}
	}
	if len(drop) == 0 {
		return r.now
	}
	out := &currentAssignment{memberEpoch: r.now.memberEpoch, previousEpoch: r.now.memberEpoch, state: r.now.state, assigned: keep, revoking: r.now.revoking}
	revoking := append(slices.Clone(r.now.revoking), drop...)
	slices.SortFunc(revoking, compareAssigned)
	if r.has.any(revoking) {
		out.state, out.revoking = unrevoked, revoking
	}
	return out
}

// advanced moves towards the target: what is not in it must go first; then what is free is taken.
func (r *reconciliation) advanced() *currentAssignment {
	var keep, drop, gain []assignedPartition
	waits := false
	for _, h := range r.now.assigned {
		if r.reads[h.topic] && slices.Contains(r.target[h.topic], h.number) {
			keep = append(keep, h)
		} else {
			drop = append(drop, h)
		}
	}
	// any order: what is got is sorted below.
	for topic, numbers := range r.target {
		for _, n := range numbers {
			p := topicPartition{topic, n}
			_, has := lookUp(keep, p)
			_, mine := lookUp(r.now.revoking, p)
			switch {
			case has || !r.reads[topic]:
			case mine || r.free(p):
				gain = append(gain, assignedPartition{p, r.assignmentEpoch})
			default:
				waits = true
			}
		}
	}
	if r.has.any(drop) {
		return &currentAssignment{memberEpoch: r.now.memberEpoch, previousEpoch: r.now.memberEpoch, state: unrevoked, assigned: keep, revoking: drop}
	}
	out := &currentAssignment{memberEpoch: r.assignmentEpoch, previousEpoch: r.now.memberEpoch, state: settled, assigned: append(keep, gain...)}
	slices.SortFunc(out.assigned, compareAssigned)
	if waits {
		out.state = unreleased
	}
	return out
}

func (s *currentAssignment) same(o *currentAssignment) bool {
	return s.memberEpoch == o.memberEpoch && s.previousEpoch == o.previousEpoch && s.state == o.state &&
		slices.Equal(s.assigned, o.assigned) && slices.Equal(s.revoking, o.revoking)
}
