package assign

// balance moves partitions of a pool from the members with the most load to those with the least, while that evens the
// loads. It tells whether something moved.
//
// Loads count all pools, so that a member that is busy elsewhere takes less here. Within one call a member that gave is
// never the one to take: it is left with at least the greatest load minus one, and who takes has two less than the
// greatest. So neither queue has to hear of the other's moves.
func (p *plan) balance(s pool) bool {
	if p.even(s) {
		return false
	}
	mine := p.mine(s)
	var owners []int32
	for _, m := range s.members {
		if len(mine[m]) > 0 {
			owners = append(owners, m)
		}
	}
	givers, takers := p.queue(owners, mostFirst), p.queue(s.members, leastFirst)
	moved := false
	for len(givers.seats) > 0 && givers.top().load-takers.top().load > 1 {
		from := givers.top().member
		last := len(mine[from]) - 1
		p.kept[mine[from][last]] = false
		p.give(mine[from][last], takers.top().member)
		takers.add(1)
		mine[from] = mine[from][:last]
		if last == 0 {
			givers.drop()
		} else {
			givers.add(-1)
		}
		moved = true
	}
	return moved
}

func (p *plan) even(s pool) bool {
	least, most := p.loads[s.members[0]], p.loads[s.members[0]]
	for _, m := range s.members[1:] {
		least, most = min(least, p.loads[m]), max(most, p.loads[m])
	}
	return most-least <= 1
}

// mine gives the partitions of the pool by owner. Those that are new to an owner stand last and are given away first:
// they cost nobody its state.
func (p *plan) mine(s pool) map[int32][]int {
	out := make(map[int32][]int, len(s.members))
	for _, kept := range []bool{true, false} {
		for partition := range p.partitions(s) {
			if p.kept[partition] == kept {
				out[p.owner[partition]] = append(out[p.owner[partition]], partition)
			}
		}
	}
	return out
}
