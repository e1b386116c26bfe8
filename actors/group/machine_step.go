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

// standing is how far a member has come: its current assignment, in the words of KIP-848. It is immutable.
type standing struct {
	epoch, previous int32
	state           memberState
	assigned        []held // what it may own, sorted
	revoking        []held // what it must let go, sorted
}

// place is a partition by the id of its topic.
type place struct {
	topic  model.TopicID
	number int32
}

// held is a partition that a member has, and the epoch in which it got it.
type held struct {
	place
	epoch int32
}

func comparePlaces(a, b place) int {
	return cmp.Or(a.topic.Compare(b.topic), cmp.Compare(a.number, b.number))
}

func compareHeld(a, b held) int { return comparePlaces(a.place, b.place) }

// lookUp finds a partition in a sorted list.
func lookUp(list []held, p place) (held, bool) {
	i, there := slices.BinarySearchFunc(list, p, func(h held, p place) int { return comparePlaces(h.place, p) })
	if !there {
		return held{}, false
	}
	return list[i], true
}

// reached tells whether a member has all of the target of an epoch.
func (s *standing) reached(epoch int32) bool { return s.state == settled && s.epoch == epoch }

// holds gives the epoch in which the member got a partition that it has, also one that it must let go.
func (s *standing) holds(p place) (int32, bool) {
	h, there := lookUp(s.assigned, p)
	if !there {
		h, there = lookUp(s.revoking, p)
	}
	return h.epoch, there
}

// owned is what a member says it has; nil when it says nothing.
type owned map[place]bool

func ownedOf(topics []kmsg.ConsumerGroupHeartbeatRequestTopic) owned {
	if topics == nil {
		return nil
	}
	o := owned{}
	for _, t := range topics {
		for _, n := range t.Partitions {
			o[place{t.TopicID, n}] = true
		}
	}
	return o
}

// any tells whether the member may have one of the list still: one that says nothing may.
func (o owned) any(list []held) bool {
	return o == nil && len(list) > 0 || slices.ContainsFunc(list, func(h held) bool { return o[h.place] })
}

// within tells whether the member has said what it has, and all of it is in the list.
func (o owned) within(list []held) bool {
	// any order: one that is missing is enough.
	for p := range o {
		if _, there := lookUp(list, p); !there {
			return false
		}
	}
	return o != nil
}

// step is what a member's next standing follows from.
type step struct {
	now    *standing
	target plan
	epoch  int32 // of the target
	// reads are the topics that it is subscribed to, changed says that they are not what they were.
	reads   map[model.TopicID]bool
	changed bool
	has     owned
	// free tells whether nobody holds a partition.
	free func(place) bool
}

// next gives the standing that follows, or the same one.
//
//	SETTLED      follows a newer target; a changed subscription takes from it what it does not read any more
//	UNREVOKED    follows once nothing of what it must let go is among what it says it has
//	UNRELEASED   looks each time for what has become free
func (s *step) next() *standing {
	switch {
	case s.now.state == settled && s.now.epoch == s.epoch:
		return s.shrunk()
	case s.now.state == unrevoked && s.has.any(s.now.revoking):
		return s.shrunk()
	}
	return s.advanced()
}

// shrunk takes away what is not subscribed to any more, without a new target.
func (s *step) shrunk() *standing {
	if !s.changed {
		return s.now
	}
	var keep, drop []held
	for _, h := range s.now.assigned {
		if s.reads[h.topic] {
			keep = append(keep, h)
		} else {
			drop = append(drop, h)
		}
	}
	if len(drop) == 0 {
		return s.now
	}
	out := &standing{epoch: s.now.epoch, previous: s.now.epoch, state: s.now.state, assigned: keep, revoking: s.now.revoking}
	revoking := append(slices.Clone(s.now.revoking), drop...)
	slices.SortFunc(revoking, compareHeld)
	if s.has.any(revoking) {
		out.state, out.revoking = unrevoked, revoking
	}
	return out
}

// advanced moves towards the target: what is not in it must go first; then what is free is taken.
func (s *step) advanced() *standing {
	var keep, drop, gain []held
	waits := false
	for _, h := range s.now.assigned {
		if s.reads[h.topic] && slices.Contains(s.target[h.topic], h.number) {
			keep = append(keep, h)
		} else {
			drop = append(drop, h)
		}
	}
	// any order: what is got is sorted below.
	for topic, numbers := range s.target {
		for _, n := range numbers {
			p := place{topic, n}
			_, has := lookUp(keep, p)
			_, mine := lookUp(s.now.revoking, p)
			switch {
			case has || !s.reads[topic]:
			case mine || s.free(p):
				gain = append(gain, held{p, s.epoch})
			default:
				waits = true
			}
		}
	}
	if s.has.any(drop) {
		return &standing{epoch: s.now.epoch, previous: s.now.epoch, state: unrevoked, assigned: keep, revoking: drop}
	}
	out := &standing{epoch: s.epoch, previous: s.now.epoch, state: settled, assigned: append(keep, gain...)}
	slices.SortFunc(out.assigned, compareHeld)
	if waits {
		out.state = unreleased
	}
	return out
}

func (s *standing) same(o *standing) bool {
	return s.epoch == o.epoch && s.previous == o.previous && s.state == o.state && slices.Equal(s.assigned, o.assigned) && slices.Equal(s.revoking, o.revoking)
}
