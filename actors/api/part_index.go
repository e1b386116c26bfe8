package api

import "hash/maphash"

// partIndex finds the partitions of a set by partKey. It is a table with open addressing and linear probing whose slots
// hold keys of fetchSet.parts, plus 1, and 0 for an empty one: four bytes a slot, where a map would keep each name again.
//
// Invariants: at most three of four slots are taken; no empty slot stands between a partition's first choice and its slot.
type partIndex struct {
	slots []uint32
	n     int
}

var partSeed = maphash.MakeSeed()

func (x *partIndex) first(k partKey) int {
	return int(maphash.Comparable(partSeed, k) & uint64(len(x.slots)-1))
}

// find gives nil for a partition that is not there.
func (x *partIndex) find(parts []*fetchPart, k partKey) *fetchPart {
	if x.n == 0 {
		return nil
	}
	for i := x.first(k); x.slots[i] != 0; i = (i + 1) & (len(x.slots) - 1) {
		if p := parts[x.slots[i]-1]; p.partition == k.partition && p.topic == k.topic {
			return p
		}
	}
	return nil
}

// put takes in a partition that is in parts and not here.
func (x *partIndex) put(parts []*fetchPart, p *fetchPart) {
	if 4*(x.n+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint32, max(4, 2*len(old)))
		for _, slot := range old {
			if slot != 0 {
				x.place(parts[slot-1])
			}
		}
	}
	x.place(p)
	x.n++
}

func (x *partIndex) place(p *fetchPart) {
	i := x.first(partKey{p.topic, p.partition})
	for x.slots[i] != 0 {
		i = (i + 1) & (len(x.slots) - 1)
	}
	x.slots[i] = p.key + 1
}

// remove takes out a partition that is here, and moves up those behind it that would not be found any more.
func (x *partIndex) remove(parts []*fetchPart, p *fetchPart) {
	mask := len(x.slots) - 1
	hole := x.first(partKey{p.topic, p.partition})
	for x.slots[hole] != p.key+1 {
		hole = (hole + 1) & mask
	}
	x.n--
	for i := (hole + 1) & mask; x.slots[i] != 0; i = (i + 1) & mask {
		q := parts[x.slots[i]-1]
		// Its way from its first choice to where it is leads over the hole.
		if from := x.first(partKey{q.topic, q.partition}); (i-from)&mask >= (i-hole)&mask {
			x.slots[hole] = x.slots[i]
			hole = i
		}
	}
	x.slots[hole] = 0
}
