// Package producer keeps what a partition knows of its idempotent and transactional producers (KIP-98, KIP-890,
// facts/groups-txn.md G and H). It is a pure machine: it judges a batch, takes in what has entered the log, and tells
// the first offset that a read_committed reader may not pass. The log that owns it does the reading and writing.
package producer

import (
	"maps"
	"slices"

	"troupe/internal/model"
)

// State is the producer state of one partition; the zero value knows no producer. It is not safe for concurrent use.
// Slots lie in one slice and the index leads to them, so that 10,000 producers are two objects to the garbage collector
// and a clone is two copies.
//
// Invariants, kept by the methods of this package:
//  1. What a slot holds follows from the batches and markers given to Append and Complete, and from nothing else:
//     Check and CheckMarker change nothing. A leader and a follower with the same log have the same state.
//  2. A window holds batches of the producer's present epoch only, rising by offset, at most WindowSize.
//  3. A producer has at most one open transaction; its first offset stands in the slot and, once, in txns.
//  4. txns rises by first offset. It holds every transaction whose marker is missing or not below the high watermark.
//  5. A producer with an open transaction is never forgotten.
type State struct {
	index map[model.ProducerID]int32 // into slots
	slots []slot
	txns  []transaction
	// lowestMarker is the lowest offset of a marker in txns, so that most moves of the high watermark cost one comparison.
	lowestMarker model.Offset
}

// Len is the number of producers known.
func (s *State) Len() int { return len(s.slots) }

// Clone copies the state, so that the copy can take in batches that may yet be given up.
func (s *State) Clone() *State {
	return &State{
		index: maps.Clone(s.index), slots: slices.Clone(s.slots),
		txns: slices.Clone(s.txns), lowestMarker: s.lowestMarker,
	}
}

// Append takes a data batch in as it stands in the log, on the leader, on a follower and when a log is replayed. It
// refuses nothing: only the leader checks, before it appends.
func (s *State) Append(b Batch) {
	p := s.slot(b.ProducerID)
	p.enterEpoch(b.Epoch)
	p.push(rememberedOf(b))
	p.lastTimestampMs = b.MaxTimestampMs
	if b.Transactional && p.txnFirst == model.NoOffset {
		p.txnFirst = b.BaseOffset
		s.begin(b.ProducerID, b.BaseOffset)
	}
}

// Complete takes a marker in. It reports the transaction that the marker ends; false when the producer had written
// nothing here, which needs no entry in the transaction index.
func (s *State) Complete(m Marker) (Completed, bool) {
	// A marker makes its producer known even when it wrote nothing here, as in Kafka: the epochs fence zombies.
	p := s.slot(m.ProducerID)
	first := p.txnFirst
	p.enterEpoch(m.Epoch)
	p.coordinatorEpoch = m.CoordinatorEpoch
	p.lastTimestampMs = m.TimestampMs
	p.txnFirst = model.NoOffset
	if first == model.NoOffset {
		return Completed{}, false
	}
	return Completed{
		ProducerID: m.ProducerID, FirstOffset: first, LastOffset: m.Offset, Aborted: m.Abort,
		LastStable: s.decide(first, m.Offset),
	}, true
}

// Expire forgets the producers that have written nothing for the time of producer.id.expiration.ms and have no open
// transaction, and tells how many. The age counts from the timestamp of the last batch or marker, as in Kafka: records
// with old timestamps let their producer be forgotten early, which costs it only the memory of its repetitions.
func (s *State) Expire(nowMs int64, afterMs int64) int {
	// Not a deadline kept by producer: the check runs every ten minutes, over slots that lie side by side.
	expired := func(p *slot) bool {
		return p.txnFirst == model.NoOffset && nowMs-p.lastTimestampMs >= afterMs
	}
	gone := 0
	for i := range s.slots {
		if expired(&s.slots[i]) {
			gone++
		}
	}
	if gone == 0 {
		return 0
	}
	// Built anew, since neither a slice nor a map gives memory back when it shrinks.
	old := s.slots
	s.slots, s.index = nil, nil
	if left := len(old) - gone; left > 0 {
		s.slots, s.index = make([]slot, 0, left), make(map[model.ProducerID]int32, left)
	}
	for i := range old {
		if !expired(&old[i]) {
			s.index[old[i].id] = int32(len(s.slots))
			s.slots = append(s.slots, old[i])
		}
	}
	return gone
}

// slot finds or makes the slot of a producer. The pointer is good until the next call.
func (s *State) slot(id model.ProducerID) *slot {
	if i, ok := s.index[id]; ok {
		return &s.slots[i]
	}
	if s.index == nil {
		s.index = make(map[model.ProducerID]int32)
	}
	s.index[id] = int32(len(s.slots))
	s.slots = append(s.slots, emptySlot(id))
	return &s.slots[len(s.slots)-1]
}

// known finds the slot of a producer, nil when there is none.
func (s *State) known(id model.ProducerID) *slot {
	if i, ok := s.index[id]; ok {
		return &s.slots[i]
	}
	return nil
}
