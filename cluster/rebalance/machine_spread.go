package rebalance

import (
	"cmp"
	"slices"

	"troupe/internal/model"
)

// spreadRacks moves replicas that share a rack while there is one that the partition is not in. The replica goes from the
// broker that has more to carry.
func (p *plan) spreadRacks() {
	racks := map[string]int{}
	for _, b := range p.brokers {
		racks[b.Rack]++
	}
	for i := range p.partitions {
		one := &p.partitions[i]
		for used := p.rackNames(one.Replicas); len(used) < min(len(one.Replicas), len(racks)); used = p.rackNames(one.Replicas) {
			crowded := slices.DeleteFunc(slices.Clone(one.Replicas), func(id model.BrokerID) bool { return used[p.racks[id]] < 2 })
			from := slices.MaxFunc(crowded, func(a, b model.BrokerID) int { return cmp.Compare(p.load[a], p.load[b]) })
			p.replace(one, from, p.best(one, used))
		}
	}
}

// spreadReplicas moves one replica after the other from a broker to one that has at least two fewer. Each makes the sum
// of the squares of the loads smaller, so that it ends.
func (p *plan) spreadReplicas() {
	for p.level() {
	}
}

// level moves one replica, between the brokers that are furthest apart and allow it.
func (p *plan) level() bool {
	byLoad := slices.SortedFunc(slices.Values(p.brokers), func(a, b Broker) int {
		return cmp.Or(cmp.Compare(p.load[a.ID], p.load[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	for i := len(byLoad) - 1; i > 0; i-- {
		for _, low := range byLoad[:i] {
			high := byLoad[i]
			if p.load[high.ID]-p.load[low.ID] < 2 {
				break
			}
			if one := p.movable(high, low); one != nil {
				p.replace(one, high.ID, low.ID)
				return true
			}
		}
	}
	return false
}

// movable finds the partition to move from one broker to another without bringing it into fewer racks: of the topic that is
// furthest from even between the two.
func (p *plan) movable(from, to Broker) *Partition {
	var best *Partition
	apart := 0
	for i := range p.partitions {
		one := &p.partitions[i]
		if !slices.Contains(one.Replicas, from.ID) || slices.Contains(one.Replicas, to.ID) {
			continue
		}
		// Alone in its rack, it may leave it only for a rack that is as new to the partition.
		used := p.rackNames(one.Replicas)
		if from.Rack != to.Rack && used[from.Rack] == 1 && used[to.Rack] > 0 {
			continue
		}
		if d := p.byTopic[one.Topic][from.ID] - p.byTopic[one.Topic][to.ID]; best == nil || d > apart {
			best, apart = one, d
		}
	}
	return best
}

// spreadLeaders evens out how many partitions prefer each broker as their leader. A lead goes from a broker to one with at
// least two fewer, directly or through others that share partitions with both: each hands one on, and only the ends change.
func (p *plan) spreadLeaders() {
	leads := map[model.BrokerID]int{}
	for _, one := range p.partitions {
		leads[one.Replicas[0]]++
	}
	for p.handOn(leads) {
	}
}

// handOn finds the shortest way from a broker with many leads to one with few, and passes one lead along it.
func (p *plan) handOn(leads map[model.BrokerID]int) bool {
	starts := slices.SortedFunc(slices.Values(p.brokers), func(a, b Broker) int {
		return cmp.Or(cmp.Compare(leads[b.ID], leads[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	for _, start := range starts {
		by := map[model.BrokerID]int{} // the partition by which a broker was reached
		reached := []model.BrokerID{start.ID}
		for at := 0; at < len(reached); at++ {
			if leads[start.ID]-leads[reached[at]] >= 2 {
				p.pass(by, start.ID, reached[at], leads)
				return true
			}
			for i, one := range p.partitions {
				if one.Replicas[0] != reached[at] {
					continue
				}
				for _, next := range one.Replicas[1:] {
					if _, known := by[next]; !known && next != start.ID {
						by[next] = i
						reached = append(reached, next)
					}
				}
			}
		}
	}
	return false
}

// pass goes the way back from its end, and brings the broker that was reached to the front of each partition on it.
func (p *plan) pass(by map[model.BrokerID]int, start, end model.BrokerID, leads map[model.BrokerID]int) {
	leads[start]--
	leads[end]++
	for end != start {
		replicas := p.partitions[by[end]].Replicas
		i := slices.Index(replicas, end)
		end = replicas[0]
		replicas[0], replicas[i] = replicas[i], replicas[0]
	}
}
