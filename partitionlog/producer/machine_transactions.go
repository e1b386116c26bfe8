package producer

import (
	"cmp"
	"slices"

	"troupe/internal/model"
)

// transaction is one that read_committed readers must not pass yet.
type transaction struct {
	producer model.ProducerID
	first    model.Offset
	marker   model.Offset // NoOffset while the transaction is open
}

// FirstUnstable is the first offset of the oldest transaction that is open, or whose marker is not below the high
// watermark; false when there is none and every offset below the high watermark is stable. It may lie below the log start
// when the beginning of a transaction was deleted; the log takes the greater of the two.
func (s *State) FirstUnstable() (model.Offset, bool) {
	if len(s.txns) == 0 {
		return model.NoOffset, false
	}
	return s.txns[0].first, true
}

// OpenTransaction gives the first offset of a producer's open transaction.
func (s *State) OpenTransaction(id model.ProducerID) (model.Offset, bool) {
	if p := s.known(id); p != nil && p.txnFirst != model.NoOffset {
		return p.txnFirst, true
	}
	return model.NoOffset, false
}

// HighWatermark releases the transactions whose marker lies below it: such a marker is on every replica of the ISR, so
// the decision cannot be lost with a leader.
func (s *State) HighWatermark(hw model.Offset) {
	if s.lowestMarker == 0 || hw <= s.lowestMarker {
		return
	}
	s.lowestMarker = 0
	s.txns = slices.DeleteFunc(s.txns, func(t transaction) bool {
		if t.marker == model.NoOffset {
			return false
		}
		if t.marker < hw {
			return true
		}
		s.noteMarker(t.marker)
		return false
	})
	if len(s.txns) == 0 {
		s.txns = nil
	}
}

// begin adds an open transaction. Its first offset is the greatest, except when a snapshot is restored.
func (s *State) begin(id model.ProducerID, first model.Offset) {
	at, _ := s.find(first)
	s.txns = slices.Insert(s.txns, at, transaction{producer: id, first: first, marker: model.NoOffset})
}

// decide notes the marker of the transaction that began at first, and returns the last stable offset that follows from it.
func (s *State) decide(first, marker model.Offset) model.Offset {
	if at, ok := s.find(first); ok {
		s.txns[at].marker = marker
		s.noteMarker(marker)
	}
	for _, t := range s.txns {
		if t.marker == model.NoOffset {
			return t.first
		}
	}
	return marker + 1
}

// noteMarker lowers lowestMarker. No marker stands at offset 0, since the data of its transaction comes before it, so 0
// is free to stand for none.
func (s *State) noteMarker(m model.Offset) {
	if s.lowestMarker == 0 || m < s.lowestMarker {
		s.lowestMarker = m
	}
}

// find gives the place of the transaction that begins at first, or where it would stand.
func (s *State) find(first model.Offset) (int, bool) {
	return slices.BinarySearchFunc(s.txns, first, func(t transaction, o model.Offset) int { return cmp.Compare(t.first, o) })
}
