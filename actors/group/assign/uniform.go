package assign

import (
	"slices"

	"troupe/internal/model"
)

// uniformAssignor balances partitions over members and moves as few as that allows. It is the default of
// group.consumer.assignors.
//
// Where all members have the same subscriptions, loads differ by one at most, and no assignment as balanced keeps more
// of the former one. Where they differ, a member has at most one partition more than any other that could take one of
// its own (short of roundsMax). Of the new owners that are as good for balance, one in a rack with a replica is preferred:
// Kafka's assignor is free in that choice and does not look at racks.
type uniformAssignor struct{}

// Name is the name on the wire.
func (uniformAssignor) Name() string { return "uniform" }

// roundsMax bounds the work on groups whose members' subscriptions overlap in long chains, along which load moves by
// one member a round. What is left undone is the last of the balance.
const roundsMax = 64

// Assign keeps what it can, gives out what has no owner, then evens the loads.
func (uniformAssignor) Assign(in Input) Assignment {
	p := newPlan(in)
	p.keep()
	for _, s := range p.pools {
		p.fill(s)
	}
	for range roundsMax {
		moved := false
		for _, s := range p.pools {
			moved = p.balance(s) || moved
		}
		// With a single pool there is nobody else whose moves could undo its balance.
		if !moved || len(p.pools) == 1 {
			break
		}
	}
	return p.assignment(in)
}

// plan is an assignment in the making. Members and topics are numbered in the order of their ids, and partitions
// through all topics.
type plan struct {
	members []Member
	topics  []Topic
	first   []int // the number of a topic's partition 0
	pools   []pool
	loads   []int // the partitions of each member
	owner   []int32
	kept    []bool // owned since the former assignment
}

// nobody owns a partition that is not given out.
const nobody int32 = -1

func newPlan(in Input) *plan {
	p := &plan{members: in.Members, topics: existing(in), loads: make([]int, len(in.Members))}
	count := 0
	for _, t := range p.topics {
		p.first = append(p.first, count)
		count += t.Partitions
	}
	p.owner, p.kept = slices.Repeat([]int32{nobody}, count), make([]bool, count)
	p.pools = pools(p.members, p.topics)
	return p
}

// keep leaves every member what it has and may have. Topics come in any order, which is no matter: a partition is
// disputed between members only, and those are in order.
func (p *plan) keep() {
	for i, m := range p.members {
		for id, partitions := range m.Current {
			t, there := slices.BinarySearchFunc(p.topics, id, func(t Topic, id model.TopicID) int { return t.ID.Compare(id) })
			if !there {
				continue
			}
			if _, subscribed := slices.BinarySearchFunc(m.Topics, id, model.TopicID.Compare); !subscribed {
				continue
			}
			for _, n := range partitions {
				if n >= 0 && int(n) < p.topics[t].Partitions && p.owner[p.first[t]+int(n)] == nobody {
					p.give(p.first[t]+int(n), int32(i))
					p.kept[p.first[t]+int(n)] = true
				}
			}
		}
	}
}

func (p *plan) give(partition int, member int32) {
	if from := p.owner[partition]; from != nobody {
		p.loads[from]--
	}
	p.owner[partition] = member
	p.loads[member]++
}

// fill gives out what has no owner, to those with the least load.
func (p *plan) fill(s pool) {
	free := p.free(s)
	if len(free) == 0 {
		return
	}
	rest := p.fillRacks(s, free)
	takers := p.queue(s.members, leastFirst)
	for _, partition := range rest {
		p.give(partition, takers.top().member)
		takers.add(1)
	}
}

func (p *plan) free(s pool) (free []int) {
	for partition := range p.partitions(s) {
		if p.owner[partition] == nobody {
			free = append(free, partition)
		}
	}
	return free
}

// assignment writes the plan out.
func (p *plan) assignment(in Input) Assignment {
	out := empty(in)
	for t, topic := range p.topics {
		for n := range topic.Partitions {
			if member := p.owner[p.first[t]+n]; member != nobody {
				mine := out[p.members[member].ID]
				mine[topic.ID] = append(mine[topic.ID], int32(n))
			}
		}
	}
	return out
}
