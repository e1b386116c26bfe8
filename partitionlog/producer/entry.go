package producer

import (
	"cmp"
	"slices"

	"troupe/internal/model"
)

// Entry is one producer as a snapshot holds it and DescribeProducers lists it. Of the window it has the last batch only.
type Entry struct {
	ProducerID       model.ProducerID
	Epoch            model.ProducerEpoch
	LastSequence     model.Sequence // NoSequence when no batch of this epoch is known
	LastOffset       model.Offset   // of the last data batch; NoOffset likewise
	OffsetDelta      int32          // of the last data batch
	TimestampMs      int64          // of the last batch or marker
	CoordinatorEpoch model.CoordinatorEpoch
	TxnFirstOffset   model.Offset // of the open transaction; NoOffset without one
}

// Entries lists the producers by rising id.
func (s *State) Entries() []Entry {
	out := make([]Entry, 0, len(s.slots))
	for i := range s.slots {
		out = append(out, s.slots[i].entry())
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return out
}

// Restore replaces the state by that of a snapshot. What followed the snapshot in the log is then given to Append and
// Complete, and what preceded it may be given to Refill. Truncating a log is a Restore too: a state cannot be turned back.
func (s *State) Restore(entries []Entry) {
	*s = State{}
	for _, e := range entries {
		p := s.slot(e.ProducerID)
		p.epoch, p.coordinatorEpoch, p.lastTimestampMs = e.Epoch, e.CoordinatorEpoch, e.TimestampMs
		// Kafka writes no batch as offset -1, and tells it from one by that alone.
		if e.LastOffset >= 0 {
			p.push(remembered{
				lastOffset: e.LastOffset, timestampMs: e.TimestampMs,
				lastSequence: e.LastSequence, offsetDelta: e.OffsetDelta,
			})
		}
		if e.TxnFirstOffset >= 0 {
			p.txnFirst = e.TxnFirstOffset
			s.begin(e.ProducerID, e.TxnFirstOffset)
		}
	}
}

// Refill gives back to the window a batch that precedes the snapshot, in any order. It counts only when its producer is
// known, in this epoch, with a later batch: a snapshot keeps the last batch alone, and a client may repeat four more.
func (s *State) Refill(b Batch) {
	if p := s.known(b.ProducerID); p != nil && p.epoch == b.Epoch {
		p.insertOlder(rememberedOf(b))
	}
}

// WindowsComplete tells that no producer can gain by a further Refill, so that reading older headers may stop.
func (s *State) WindowsComplete() bool {
	for i := range s.slots {
		if !s.slots[i].complete() {
			return false
		}
	}
	return true
}

// entry leaves four of the five batches out: Kafka's format has place for one.
func (p *slot) entry() Entry {
	e := Entry{
		ProducerID: p.id, Epoch: p.epoch, LastSequence: NoSequence, LastOffset: model.NoOffset,
		TimestampMs: p.lastTimestampMs, CoordinatorEpoch: p.coordinatorEpoch, TxnFirstOffset: p.txnFirst,
	}
	if p.count > 0 {
		last := p.window[p.count-1]
		e.LastSequence, e.LastOffset, e.OffsetDelta = last.lastSequence, last.lastOffset, last.offsetDelta
	}
	return e
}
