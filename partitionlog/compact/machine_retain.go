package compact

import (
	"troupe/internal/model"
	"troupe/partitionlog/producer"
)

// Mapper is the first pass over a log: it fills the offsets of the newest keys from the dirty part.
type Mapper struct {
	offsets *Offsets
	from    model.Offset
	txns    transactions
}

// NewMapper notes keys from an offset on.
func NewMapper(offsets *Offsets, from model.Offset) *Mapper {
	offsets.Reach(from)
	return &Mapper{offsets: offsets, from: from, txns: newTransactions()}
}

// Expect adds the aborted transactions with records among the batches that come next.
func (m *Mapper) Expect(entries []producer.Completed) { m.txns.expect(entries) }

// Batch takes the next batch and tells whether its records count: aborted ones say nothing about their keys.
func (m *Mapper) Batch(b Batch) (records bool) {
	if b.Control {
		m.txns.marker(b)
		return false
	}
	return !m.txns.data(b)
}

// Record takes the next record of a batch that counts; false when the map is full, so that the first pass ends before
// this record.
func (m *Mapper) Record(key []byte, o model.Offset) bool {
	if key == nil || o < m.from {
		return true
	}
	if !m.offsets.Put(key, o) {
		m.offsets.Reach(o)
		return false
	}
	return true
}

// Retainer is the second pass: it decides on each batch and each record of a log, in order.
//
// A record stays if it is the newest of its key. A tombstone, or the marker of a transaction without batches, stays
// until the delete horizon of its batch, which the first cleaning that meets it sets: whoever reads the log from its start
// within that time learns of the deletion.
type Retainer struct {
	offsets   *Offsets
	nowMs     int64
	horizonMs int64
	last      map[model.ProducerID]producer.Entry
	txns      transactions

	batch  Batch // at hand
	tombs  bool  // its tombstones stay
	marker bool  // it is the marker of a transaction without batches
}

// NewRetainer goes by the offsets of the first pass. producers are those that the log knows now.
func NewRetainer(offsets *Offsets, producers []producer.Entry, p Policy, nowMs int64) *Retainer {
	r := &Retainer{
		offsets: offsets, nowMs: nowMs, horizonMs: nowMs + p.DeleteRetentionMs, txns: newTransactions(),
		last: make(map[model.ProducerID]producer.Entry, len(producers)),
	}
	if r.horizonMs < nowMs { // for ever, as good as
		r.horizonMs = 1<<63 - 1
	}
	for _, e := range producers {
		r.last[e.ProducerID] = e
	}
	return r
}

// Expect adds the aborted transactions with records among the batches that come next.
func (r *Retainer) Expect(entries []producer.Completed) { r.txns.expect(entries) }

// Verdict is what becomes of a batch as a whole.
type Verdict struct {
	// Discard: none of its records stays. The others are asked for one by one.
	Discard bool
	// KeepEmpty: it stays without records rather than go: its offsets and its producer's sequence are needed.
	KeepEmpty bool
	// Aborted is the entry for the transaction index that has to be kept with an abort marker; nil for none.
	Aborted *producer.Completed
}

// Batch takes the next batch.
func (r *Retainer) Batch(b Batch) Verdict {
	var v Verdict
	r.batch, r.marker = b, false
	due := b.HorizonMs >= 0 && b.HorizonMs <= r.nowMs
	if b.Control {
		r.marker, v.Aborted = r.txns.marker(b)
		v.Discard = r.marker && due
	} else {
		v.Discard = r.txns.data(b)
	}
	r.tombs = !due
	// The last batch of a producer tells the sequence and epoch that the next one has to follow. The last of all that is
	// cleaned tells how far the offsets go.
	v.KeepEmpty = r.isLast(b) || b.LastOffset+1 == r.offsets.End()
	return v
}

func (r *Retainer) isLast(b Batch) bool {
	e, known := r.last[b.ProducerID]
	switch {
	case b.ProducerID < 0 || !known:
		return false
	case e.LastOffset >= 0:
		return b.LastOffset == e.LastOffset
	}
	return b.Control && b.ProducerEpoch == e.Epoch // a marker is all there is of it
}

// Record tells whether a record of the batch at hand stays.
func (r *Retainer) Record(key []byte, o model.Offset, tombstone bool) bool {
	switch {
	case r.batch.Control || o >= r.offsets.End():
		return true
	case key == nil:
		return false // from before the topic was compacted: it can never be replaced
	}
	return o >= r.offsets.Newest(key) && (!tombstone || r.tombs)
}

// Horizon is the delete horizon that a batch gets now, -1 for none. tombstones tells that some of the records that stay
// are.
func (r *Retainer) Horizon(tombstones bool) int64 {
	if r.batch.HorizonMs < 0 && (tombstones || r.marker) {
		return r.horizonMs
	}
	return -1
}
