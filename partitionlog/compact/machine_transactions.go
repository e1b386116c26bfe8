package compact

import (
	"cmp"
	"slices"

	"troupe/internal/model"
	"troupe/partitionlog/producer"
)

// Marker is what a control batch says.
type Marker uint8

// The markers. A control batch that compaction has emptied has none, and is of no use to anybody.
const (
	NoMarker Marker = iota
	Commit
	Abort
	OtherControl // of a kind that is not known here: it stays
)

// Batch is what the rules need of a batch.
type Batch struct {
	LastOffset    model.Offset
	ProducerID    model.ProducerID
	ProducerEpoch model.ProducerEpoch
	Transactional bool
	Control       bool
	Marker        Marker // of a control batch
	HorizonMs     int64  // delete horizon, -1 before it was set
}

// transactions follows the transactions of a log while its batches go by in order.
//
// Invariants:
//  1. committed holds the producers with data since their last marker, in transactions that were not aborted.
//  2. aborted holds the aborted transactions that began before the batch at hand and whose marker is still to come.
type transactions struct {
	committed map[model.ProducerID]bool
	aborted   map[model.ProducerID]*abortion
	coming    []producer.Completed // aborted, rising by first offset, not reached yet
}

type abortion struct {
	entry producer.Completed
	// seen tells that a batch of it was met. Its marker stays as long as there are any.
	seen bool
}

func newTransactions() transactions {
	return transactions{committed: map[model.ProducerID]bool{}, aborted: map[model.ProducerID]*abortion{}}
}

// expect adds the aborted transactions of the batches that come next, from the transaction indexes. One that is known
// already is left out: those that span segments are in the index of a later one.
func (t *transactions) expect(entries []producer.Completed) {
	for _, e := range entries {
		if open := t.aborted[e.ProducerID]; open != nil && open.entry == e || slices.Contains(t.coming, e) {
			continue
		}
		t.coming = append(t.coming, e)
	}
	slices.SortFunc(t.coming, func(a, b producer.Completed) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
}

func (t *transactions) advance(to model.Offset) {
	n := 0
	for ; n < len(t.coming) && t.coming[n].FirstOffset <= to; n++ {
		if e := t.coming[n]; t.aborted[e.ProducerID] == nil {
			t.aborted[e.ProducerID] = &abortion{entry: e}
		}
	}
	t.coming = t.coming[n:]
}

// data takes a batch of records in and tells whether they were aborted.
func (t *transactions) data(b Batch) bool {
	t.advance(b.LastOffset)
	if !b.Transactional {
		return false
	}
	if a := t.aborted[b.ProducerID]; a != nil {
		a.seen = true
		return true
	}
	t.committed[b.ProducerID] = true
	return false
}

// marker takes a control batch in. idle tells that no batch of its transaction is left; entry is that of the
// transaction index when there is one and the transaction was aborted.
func (t *transactions) marker(b Batch) (idle bool, entry *producer.Completed) {
	t.advance(b.LastOffset)
	switch b.Marker {
	case Abort:
		a := t.aborted[b.ProducerID]
		delete(t.aborted, b.ProducerID)
		if a != nil && a.seen {
			return false, &a.entry
		}
		return true, nil
	case Commit:
		had := t.committed[b.ProducerID]
		delete(t.committed, b.ProducerID)
		return !had, nil
	case OtherControl:
		return false, nil
	}
	return true, nil
}
