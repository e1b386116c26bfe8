package assign

import "slices"

// fillRacks gives free partitions to members in a rack that has a replica, as far as no member exceeds what an even
// division gives each, and returns the others. Reading in one's own rack costs no traffic between racks (KIP-392).
func (p *plan) fillRacks(s pool, free []int) (rest []int) {
	racks := p.byRack(s)
	if len(racks) == 0 {
		return free
	}
	sum := len(free)
	for _, m := range s.members {
		sum += p.loads[m]
	}
	quota := sum / len(s.members)
	for _, partition := range free {
		var best *queue
		for _, rack := range p.racks(partition) {
			q := racks[rack]
			if q != nil && q.top().load < quota && (best == nil || leastFirst(q.top(), best.top()) < 0) {
				best = q
			}
		}
		if best == nil {
			rest = append(rest, partition)
			continue
		}
		p.give(partition, best.top().member)
		best.add(1)
	}
	return rest
}

func (p *plan) byRack(s pool) map[string]*queue {
	members := map[string][]int32{}
	for _, m := range s.members {
		if rack := p.members[m].Rack; rack != nil {
			members[*rack] = append(members[*rack], m)
		}
	}
	out := make(map[string]*queue, len(members))
	for rack, m := range members {
		out[rack] = p.queue(m, leastFirst)
	}
	return out
}

// racks are those with a replica of a partition.
func (p *plan) racks(partition int) []string {
	t, _ := slices.BinarySearch(p.first, partition+1) // the topic after, so that those without partitions are passed
	t--
	if n := partition - p.first[t]; n < len(p.topics[t].Racks) {
		return p.topics[t].Racks[n]
	}
	return nil
}
