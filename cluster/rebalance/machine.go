// Package rebalance plans which replicas move so that the brokers of a cluster carry as much as each other: after nodes
// were added, before one is taken away, or when topics are to have more replicas than they were made with.
package rebalance

import (
	"cmp"
	"fmt"
	"slices"

	"troupe/internal/model"
)

// Broker is one that serves, or one that is to be emptied.
type Broker struct {
	ID model.BrokerID
	// Rack is empty for brokers without one: they form one rack together.
	Rack string
	// Draining brokers keep nothing.
	Draining bool
}

// Partition is where a partition is, the preferred leader first.
type Partition struct {
	model.TopicPartition
	Replicas []model.BrokerID
	// Factor is the least number of replicas it is to have; fewer than it has changes nothing.
	Factor int
}

// Move is a partition whose list of replicas changes: in its members, or only in its order, which moves no data.
type Move struct {
	model.TopicPartition
	From, To []model.BrokerID
}

// Added are the brokers that have to copy the partition.
func (m Move) Added() []model.BrokerID {
	return slices.DeleteFunc(slices.Clone(m.To), func(id model.BrokerID) bool { return slices.Contains(m.From, id) })
}

// FewBrokersError says that a partition wants more replicas than brokers are left.
type FewBrokersError struct {
	Partition model.TopicPartition
	Factor    int
	Brokers   int
}

func (e *FewBrokersError) Error() string {
	return fmt.Sprintf("%s wants %d replicas, and %d brokers are left to hold them", e.Partition, e.Factor, e.Brokers)
}

// Plan decides the moves, in the order of the partitions. It does what has to be done, then what evens the load out:
//
//  1. replicas leave brokers that are drained or gone, and partitions get as many as they are to have;
//  2. replicas of a partition that share a rack move to racks that it is not in;
//  3. replicas move from brokers with many to brokers with few;
//  4. preferred leaders change within their partition's replicas.
//
// Invariants of the result, which tests keep:
//  1. no broker is twice in a list, and none of them drains;
//  2. a partition is in as many racks as it can be;
//  3. where all brokers are of one rack, no broker holds two replicas more than another;
//  4. planning again, with the moves done, gives none.
//
// Errors: *FewBrokersError.
func Plan(brokers []Broker, partitions []Partition) ([]Move, error) {
	p := newPlan(brokers, partitions)
	if err := p.fill(); err != nil {
		return nil, err
	}
	p.spreadRacks()
	p.spreadReplicas()
	p.spreadLeaders()
	return p.moves(partitions), nil
}

// plan is the state while it is worked on. Everything goes by the order of slices, so that one input has one plan.
type plan struct {
	brokers    []Broker // those that may hold replicas, by number
	partitions []Partition
	racks      map[model.BrokerID]string
	load       map[model.BrokerID]int // replicas
	byTopic    map[string]map[model.BrokerID]int
}

func newPlan(brokers []Broker, partitions []Partition) *plan {
	p := &plan{racks: map[model.BrokerID]string{}, load: map[model.BrokerID]int{}, byTopic: map[string]map[model.BrokerID]int{}}
	for _, b := range brokers {
		if !b.Draining {
			p.brokers = append(p.brokers, b)
			p.racks[b.ID] = b.Rack
		}
	}
	slices.SortFunc(p.brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	for _, one := range partitions {
		one.Factor = max(one.Factor, len(one.Replicas))
		// A broker that is not there any more is left like one that drains.
		one.Replicas = slices.DeleteFunc(slices.Clone(one.Replicas), func(id model.BrokerID) bool { return !p.known(id) })
		p.partitions = append(p.partitions, one)
		if p.byTopic[one.Topic] == nil {
			p.byTopic[one.Topic] = map[model.BrokerID]int{}
		}
		for _, id := range one.Replicas {
			p.count(one.Topic, id, 1)
		}
	}
	return p
}

func (p *plan) known(id model.BrokerID) bool {
	_, ok := p.racks[id]
	return ok
}

func (p *plan) count(topic string, id model.BrokerID, n int) {
	p.load[id] += n
	p.byTopic[topic][id] += n
}

// fill gives every partition its number of replicas. Those that come go behind those that stay: leadership moves last.
func (p *plan) fill() error {
	for i := range p.partitions {
		one := &p.partitions[i]
		if one.Factor > len(p.brokers) {
			return &FewBrokersError{one.TopicPartition, one.Factor, len(p.brokers)}
		}
		for len(one.Replicas) < one.Factor {
			id := p.best(one, p.rackNames(one.Replicas))
			one.Replicas = append(one.Replicas, id)
			p.count(one.Topic, id, 1)
		}
	}
	return nil
}

// best is the broker for one more replica: in a rack that is not used, then with least of the load, then with least of the
// topic, then the lowest.
func (p *plan) best(one *Partition, used map[string]int) model.BrokerID {
	candidates := slices.DeleteFunc(slices.Clone(p.brokers), func(b Broker) bool { return slices.Contains(one.Replicas, b.ID) })
	return slices.MinFunc(candidates, func(a, b Broker) int {
		return cmp.Or(cmp.Compare(min(used[a.Rack], 1), min(used[b.Rack], 1)), cmp.Compare(p.load[a.ID], p.load[b.ID]),
			cmp.Compare(p.byTopic[one.Topic][a.ID], p.byTopic[one.Topic][b.ID]), cmp.Compare(a.ID, b.ID))
	}).ID
}

// rackNames counts replicas by rack.
func (p *plan) rackNames(replicas []model.BrokerID) map[string]int {
	used := map[string]int{}
	for _, id := range replicas {
		used[p.racks[id]]++
	}
	return used
}

// replace lets another broker take a replica's place in the list.
func (p *plan) replace(one *Partition, from, to model.BrokerID) {
	one.Replicas[slices.Index(one.Replicas, from)] = to
	p.count(one.Topic, from, -1)
	p.count(one.Topic, to, 1)
}

// moves are the partitions whose list is another than before.
func (p *plan) moves(before []Partition) []Move {
	var moves []Move
	for i, one := range p.partitions {
		if !slices.Equal(one.Replicas, before[i].Replicas) {
			moves = append(moves, Move{one.TopicPartition, before[i].Replicas, one.Replicas})
		}
	}
	return moves
}
