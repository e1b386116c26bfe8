package compact

import (
	"hash/maphash"
	"math/bits"

	"troupe/internal/model"
)

// Offsets holds the newest offset of each key of a part of a log, in a fixed amount of memory. Keys are known by 128
// bits of hash, of which two alike among 10^9 keys come up once in 10^20 logs (docs/adr/0011-keys-are-hashed-with-seeds.md).
//
// Invariants:
//  1. used <= limit < len(slots), so that a search ends at a free slot.
//  2. Offsets are put in rising order, so that what a slot holds is the newest.
type Offsets struct {
	slots []slot
	used  int
	limit int
	seeds [2]maphash.Seed
	end   model.Offset
}

// slot is free when next is 0: it holds the offset plus 1.
type slot struct {
	high, low uint64
	next      int64
}

// SlotBytes is the memory of one key.
const SlotBytes = 24

// NewOffsets takes at most so many bytes, and no more than most keys need. load is the share of the slots that may be
// in use (log.cleaner.io.buffer.load.factor).
func NewOffsets(bytes int64, load float64, most int64) *Offsets {
	load = min(max(load, 0.01), 0.95) // beyond that, searches grow long
	slots := bytes / SlotBytes
	if need := float64(most)/load + 2; need < float64(slots) {
		slots = int64(need)
	}
	slots = max(slots, 2)
	return &Offsets{
		slots: make([]slot, slots), limit: min(max(1, int(float64(slots)*load)), int(slots)-1),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

// Put notes a key's offset, which is greater than all before; false when the key is new and there is no room.
func (m *Offsets) Put(key []byte, o model.Offset) bool {
	s := m.find(key)
	if s.next == 0 {
		if m.used == m.limit {
			return false
		}
		m.used++
	}
	s.next = int64(o) + 1
	return true
}

// Newest gives a key's offset, NoOffset for a key that is not there.
func (m *Offsets) Newest(key []byte) model.Offset { return model.Offset(m.find(key).next - 1) }

// find gives the slot of a key, or the free one where it would stand.
func (m *Offsets) find(key []byte) *slot {
	high, low := maphash.Bytes(m.seeds[0], key), maphash.Bytes(m.seeds[1], key)
	at, _ := bits.Mul64(high, uint64(len(m.slots)))
	for {
		s := &m.slots[at]
		if s.next == 0 {
			s.high, s.low = high, low
			return s
		}
		if s.high == high && s.low == low {
			return s
		}
		if at++; at == uint64(len(m.slots)) {
			at = 0
		}
	}
}

// Len is the number of keys.
func (m *Offsets) Len() int { return m.used }

// Reach tells that every record before an offset was seen.
func (m *Offsets) Reach(o model.Offset) { m.end = max(m.end, o) }

// End is the offset before which every record was seen.
func (m *Offsets) End() model.Offset { return m.end }
