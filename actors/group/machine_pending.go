package group

import (
	"troupe/actors/group/record"
	"troupe/internal/model"
)

// pendingOffsets are offsets that were committed within transactions that are still open, by producer (KIP-98). They count
// when the transaction's marker commits them, and are gone when it aborts. They come from loading alone, of which all is
// committed, so they need no way back.
type pendingOffsets map[model.ProducerID][]pendingOffset

type pendingOffset struct {
	key   record.Offset
	value *committed
}

func (p pendingOffsets) add(id model.ProducerID, key record.Offset, c *committed) {
	p[id] = append(p[id], pendingOffset{key, c})
}

// holds tells whether an open transaction has committed an offset of a partition.
func (p pendingOffsets) holds(group string, at partition) bool {
	return p.some(func(o pendingOffset) bool {
		return o.key.Group == group && o.key.Topic == at.topic && o.key.Partition == at.number
	})
}

// of tells whether an open transaction has committed anything for a group.
func (p pendingOffsets) of(group string) bool {
	return p.some(func(o pendingOffset) bool { return o.key.Group == group })
}

func (p pendingOffsets) some(is func(pendingOffset) bool) bool {
	// any order: whether there is one does not depend on which is found first.
	for _, list := range p {
		for _, o := range list {
			if is(o) {
				return true
			}
		}
	}
	return false
}

// forget drops what transactions hold for a group that is deleted.
func (p pendingOffsets) forget(group string) {
	// any order: each list is treated by itself.
	for id, list := range p {
		kept := list[:0]
		for _, o := range list {
			if o.key.Group != group {
				kept = append(kept, o)
			}
		}
		if p[id] = kept; len(kept) == 0 {
			delete(p, id)
		}
	}
}
