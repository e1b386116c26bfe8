package batch

import (
	"encoding/binary"
	"hash/crc32"

	"troupe/codec/compress"
	"troupe/internal/model"
)

// Positions of the header fields; docs/formats/record-batch.md draws them.
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57

	// HeaderSize is the bytes before the records.
	HeaderSize = 61
	// LengthEnd is the bytes that the length field does not count: the base offset and the length itself.
	LengthEnd = 12
	// MagicEnd is how many bytes First needs to tell what a batch is and how long.
	MagicEnd = posMagic + 1

	magicV2 = 2
)

// Bits of the attributes.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// NoTimestamp is the timestamp of a record that has none, in milliseconds like every other.
const NoTimestamp int64 = -1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// View is exactly one record batch of format v2, as it stands on the wire and on disk.
//
// Invariants, kept by First and by the setters here:
//  1. len >= HeaderSize and len == LengthEnd + the length field;
//  2. the magic byte is 2.
//
// Nothing else is promised before CheckCRC and Validate have passed. A View shares the bytes it was made of.
type View []byte

// BaseOffset is the offset of the first record, also when compaction has removed that record.
func (v View) BaseOffset() model.Offset {
	return model.Offset(binary.BigEndian.Uint64(v[posBaseOffset:]))
}

// LastOffset is the offset of the last record, also when compaction has removed that record.
func (v View) LastOffset() model.Offset { return v.BaseOffset() + model.Offset(v.LastOffsetDelta()) }

// NextOffset is the offset after the batch.
func (v View) NextOffset() model.Offset { return v.LastOffset() + 1 }

// LeaderEpoch is the epoch of the leader that appended the batch; what a producer sends here means nothing.
func (v View) LeaderEpoch() model.LeaderEpoch {
	return model.LeaderEpoch(binary.BigEndian.Uint32(v[posLeaderEpoch:]))
}

// CRC is the stored checksum: CRC-32C of everything from the attributes on.
func (v View) CRC() uint32 { return binary.BigEndian.Uint32(v[posCRC:]) }

// Attributes are the flags, codec included.
func (v View) Attributes() int16 { return int16(binary.BigEndian.Uint16(v[posAttributes:])) }

// Codec is how the records are compressed; the numbers 5 to 7 are not given to any codec.
func (v View) Codec() compress.Codec { return compress.Codec(v.Attributes() & attrCodec) }

// LogAppendTime tells that every record carries MaxTimestamp, set by the broker, instead of its own time.
func (v View) LogAppendTime() bool { return v.Attributes()&attrLogAppendTime != 0 }

// Transactional tells that the records count only when their transaction commits.
func (v View) Transactional() bool { return v.Attributes()&attrTransactional != 0 }

// Control tells that the records are markers and not a client's data.
func (v View) Control() bool { return v.Attributes()&attrControl != 0 }

// HasDeleteHorizon tells that BaseTimestamp holds the time from which on tombstones or markers may go (KIP-534).
func (v View) HasDeleteHorizon() bool { return v.Attributes()&attrDeleteHorizon != 0 }

// LastOffsetDelta is LastOffset - BaseOffset.
func (v View) LastOffsetDelta() int32 { return int32(binary.BigEndian.Uint32(v[posLastOffsetDelta:])) }

// BaseTimestamp is what the records' timestamps are relative to, in milliseconds.
func (v View) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(v[posBaseTimestamp:])) }

// MaxTimestamp is the latest of the records' timestamps, or the append time, in milliseconds.
func (v View) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(v[posMaxTimestamp:])) }

// ProducerID is model.NoProducerID for a producer without idempotence.
func (v View) ProducerID() model.ProducerID {
	return model.ProducerID(binary.BigEndian.Uint64(v[posProducerID:]))
}

// ProducerEpoch goes with ProducerID.
func (v View) ProducerEpoch() model.ProducerEpoch {
	return model.ProducerEpoch(binary.BigEndian.Uint16(v[posProducerEpoch:]))
}

// BaseSequence is the sequence number of the first record, -1 for none.
func (v View) BaseSequence() model.Sequence {
	return model.Sequence(binary.BigEndian.Uint32(v[posBaseSequence:]))
}

// LastSequence is the sequence number of the last record: it goes from 2^31-1 on to 0. -1 when there is none.
func (v View) LastSequence() model.Sequence {
	first := v.BaseSequence()
	if first < 0 {
		return -1
	}
	return model.Sequence((uint32(first) + uint32(v.LastOffsetDelta())) & (1<<31 - 1))
}

// Count is the number of records in the batch; 0 for one that compaction emptied.
func (v View) Count() int32 { return int32(binary.BigEndian.Uint32(v[posCount:])) }

// Payload is the records as they stand: one compressed block unless Codec is compress.None.
func (v View) Payload() []byte { return v[HeaderSize:] }

// CheckCRC compares the stored checksum with the bytes. The failure is a *CorruptError.
func (v View) CheckCRC() error {
	if crc32.Checksum(v[posAttributes:], castagnoli) != v.CRC() {
		return v.corrupt("the checksum does not match the bytes")
	}
	return nil
}

// SetBaseOffset gives the batch its place in the log. The checksum does not cover it.
func (v View) SetBaseOffset(o model.Offset) {
	binary.BigEndian.PutUint64(v[posBaseOffset:], uint64(o))
}

// SetLeaderEpoch notes the leader that appends the batch. The checksum does not cover it.
func (v View) SetLeaderEpoch(e model.LeaderEpoch) {
	binary.BigEndian.PutUint32(v[posLeaderEpoch:], uint32(e))
}

// SetLogAppendTime makes ms the time of every record, and brings the checksum up to date.
func (v View) SetLogAppendTime(ms int64) {
	v.setTime(v.Attributes()|attrLogAppendTime, ms)
}

// SetMaxTimestamp corrects the latest timestamp of a batch of CreateTime, and the checksum when that changed it.
func (v View) SetMaxTimestamp(ms int64) {
	if ms != v.MaxTimestamp() {
		v.setTime(v.Attributes(), ms)
	}
}

func (v View) setTime(attributes int16, ms int64) {
	binary.BigEndian.PutUint16(v[posAttributes:], uint16(attributes))
	binary.BigEndian.PutUint64(v[posMaxTimestamp:], uint64(ms))
	v.updateCRC()
}

func (v View) updateCRC() {
	binary.BigEndian.PutUint32(v[posCRC:], crc32.Checksum(v[posAttributes:], castagnoli))
}
