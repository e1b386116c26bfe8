package assign

import (
	"cmp"
	"slices"

	"troupe/internal/model"
)

// rangeAssignor gives each member a contiguous range of every topic that it is subscribed to, the first ones a partition more
// when they do not divide evenly. Members with equal subscriptions so get the same numbers of topics with equally many
// partitions, which joins need.
//
// It looks at no former assignment. What makes it sticky is the order of members, which is Kafka's: static ones first, by
// instance id, which outlives a restart, then the others by member id.
type rangeAssignor struct{}

// Name is the name on the wire.
func (rangeAssignor) Name() string { return "range" }

// division is how far one topic has been given out.
type division struct {
	members, partitions int
	next                int // the first partition that is not given out
	served              int // members that have had their range
}

// take gives the range of the next member: each of the first partitions mod members ones gets an extra partition.
func (d *division) take() (from, to int) {
	from, to = d.next, d.next+d.partitions/d.members
	if d.served < d.partitions%d.members {
		to++
	}
	d.next, d.served = to, d.served+1
	return from, to
}

// Assign divides each topic for itself.
func (rangeAssignor) Assign(in Input) Assignment {
	out := empty(in)
	topics := make(map[model.TopicID]*division, len(in.Topics))
	for _, m := range in.Members {
		for _, id := range m.Topics {
			d := topics[id]
			if d == nil {
				d = &division{partitions: in.Topics[id].Partitions}
				topics[id] = d
			}
			d.members++
		}
	}
	for _, m := range byInstance(in.Members) {
		for _, id := range m.Topics {
			if from, to := topics[id].take(); from < to {
				out[m.ID][id] = numbers(from, to)
			}
		}
	}
	return out
}

func byInstance(members []Member) []Member {
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b Member) int {
		switch {
		case a.Instance != nil && b.Instance != nil:
			return cmp.Compare(*a.Instance, *b.Instance)
		case a.Instance != nil:
			return -1
		case b.Instance != nil:
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return sorted
}

func numbers(from, to int) []int32 {
	out := make([]int32, 0, to-from)
	for n := from; n < to; n++ {
		out = append(out, int32(n))
	}
	return out
}
