package producer

import (
	"fmt"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Origin says who wrote a batch, which decides the rules that it is held to. What a follower copies or a replay reads
// has been judged already and is not checked.
type Origin uint8

const (
	// Client is a producer by Produce up to v11, or one without transactions.
	Client Origin = iota
	// ClientV2 is a producer with transactions by Produce v12+ (KIP-890, transaction.version 2). Each of its
	// transactions has an epoch of its own and begins at sequence 0.
	ClientV2
	// Coordinator is this cluster's own group coordinator: offsets committed in a transaction carry no sequence.
	Coordinator
)

// Check judges a batch before the leader appends it. A batch that repeats one of the last WindowSize, with the same epoch
// and the same first and last sequence, is not to be appended: ok is true and the answer is the Original. Errors are
// INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER and INVALID_TXN_STATE, as *kerr.Error.
func (s *State) Check(b Batch, o Origin) (original Original, ok bool, err error) {
	p := s.known(b.ProducerID)
	if p == nil {
		return Original{}, false, checkUnknown(b, o)
	}
	// Before all else: the client that repeats a batch may have been answered with success, and a marker or a newer
	// batch may have come since.
	if o != Coordinator && p.epoch == b.Epoch {
		if r, found := p.find(b.BaseSequence, b.LastSequence()); found {
			first := r.lastOffset - model.Offset(r.offsetDelta)
			return Original{BaseOffset: first, LastOffset: r.lastOffset, TimestampMs: r.timestampMs}, true, nil
		}
	}
	if b.Epoch < p.epoch {
		return Original{}, false, olderEpoch(b.ProducerID, b.Epoch, p.epoch)
	}
	if o != Coordinator {
		if err := p.checkSequence(b); err != nil {
			return Original{}, false, err
		}
	}
	if p.txnFirst != model.NoOffset && !b.Transactional {
		return Original{}, false, &kerr.Error{Code: kerr.InvalidTxnState, Detail: fmt.Sprintf(
			"producer %d has a transaction open since offset %d, but the batch is not part of one", b.ProducerID, p.txnFirst)}
	}
	return Original{}, false, nil
}

// checkUnknown lets a producer that has no state begin anywhere, since what it wrote earlier may have been deleted by
// retention. A transaction of version 2 begins at sequence 0, so there a later one shows that a batch got lost.
func checkUnknown(b Batch, o Origin) error {
	if o == ClientV2 && b.Transactional && b.BaseSequence != 0 {
		return &kerr.Error{Code: kerr.OutOfOrderSequenceNumber, Detail: fmt.Sprintf(
			"producer %d is not known here and sends sequence %d, want 0", b.ProducerID, b.BaseSequence)}
	}
	return nil
}

// checkSequence wants the sequence after the last one. In an epoch without a batch here that is 0: a producer starts
// its count anew with each epoch.
func (p *slot) checkSequence(b Batch) error {
	want := model.Sequence(0)
	if last := p.lastSequence(); b.Epoch == p.epoch && last != NoSequence {
		want = advance(last, 1)
	}
	if b.BaseSequence == want {
		return nil
	}
	return &kerr.Error{Code: kerr.OutOfOrderSequenceNumber, Detail: fmt.Sprintf(
		"producer %d epoch %d sends sequence %d, want %d", b.ProducerID, b.Epoch, b.BaseSequence, want)}
}

// CheckMarker judges a marker before the leader appends it. v2 is set when the transaction is of transaction.version 2:
// its marker carries the epoch after that of its data, so a marker of a known epoch is either the repetition of one
// that was applied, which is let through since it changes nothing, or comes from a zombie. Errors are
// INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED, as *kerr.Error.
func (s *State) CheckMarker(m Marker, v2 bool) error {
	p := s.known(m.ProducerID)
	if p == nil {
		return nil
	}
	if m.Epoch < p.epoch || v2 && m.Epoch == p.epoch && p.txnFirst != model.NoOffset {
		return olderEpoch(m.ProducerID, m.Epoch, p.epoch)
	}
	if m.CoordinatorEpoch < p.coordinatorEpoch {
		return &kerr.Error{Code: kerr.TransactionCoordinatorFenced, Detail: fmt.Sprintf(
			"the marker for producer %d comes from coordinator epoch %d, but %d is known",
			m.ProducerID, m.CoordinatorEpoch, p.coordinatorEpoch)}
	}
	return nil
}

// olderEpoch is INVALID_PRODUCER_EPOCH and not PRODUCER_FENCED: after it a client may abort and go on (KIP-588).
func olderEpoch(id model.ProducerID, sent, known model.ProducerEpoch) error {
	return &kerr.Error{Code: kerr.InvalidProducerEpoch, Detail: fmt.Sprintf(
		"producer %d sends epoch %d, but epoch %d is known", id, sent, known)}
}
