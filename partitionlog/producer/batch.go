package producer

import "troupe/internal/model"

// Batch is what the rules need of one data batch that carries a producer id. BaseOffset is not read by Check, so that
// a batch can be judged before it has its offset.
type Batch struct {
	ProducerID      model.ProducerID
	Epoch           model.ProducerEpoch
	BaseSequence    model.Sequence // NoSequence in batches that a coordinator writes
	BaseOffset      model.Offset
	LastOffsetDelta int32 // the sequence rises with the offset, so this is the sequence's delta too
	MaxTimestampMs  int64 // the append time on topics with LogAppendTime
	Transactional   bool
}

// NoSequence stands where a batch is not numbered.
const NoSequence model.Sequence = -1

// LastOffset is the offset of the batch's last record.
func (b Batch) LastOffset() model.Offset { return b.BaseOffset + model.Offset(b.LastOffsetDelta) }

// LastSequence is the sequence of the batch's last record.
func (b Batch) LastSequence() model.Sequence {
	if b.BaseSequence == NoSequence {
		return NoSequence
	}
	return advance(b.BaseSequence, b.LastOffsetDelta)
}

// Marker is the control record that ends a transaction (facts/storage-format.md 4).
type Marker struct {
	ProducerID       model.ProducerID
	Epoch            model.ProducerEpoch
	CoordinatorEpoch model.CoordinatorEpoch
	Offset           model.Offset
	TimestampMs      int64
	Abort            bool
}

// Original tells where a batch that came again stands in the log.
type Original struct {
	BaseOffset  model.Offset
	LastOffset  model.Offset
	TimestampMs int64
}

// Completed describes a transaction that had data in this partition and has got its marker: an entry of the transaction
// index when it was aborted.
type Completed struct {
	ProducerID  model.ProducerID
	FirstOffset model.Offset
	LastOffset  model.Offset // the marker's
	// LastStable is the first offset of the oldest transaction that stays open, or the one after the marker. Readers
	// of the transaction index stop at the first entry whose LastStable is past what they read.
	LastStable model.Offset
	Aborted    bool
}

// advance adds to a sequence, which wraps from 2^31-1 to 0.
func advance(s model.Sequence, delta int32) model.Sequence {
	return (s + model.Sequence(delta)) & 0x7fffffff
}
