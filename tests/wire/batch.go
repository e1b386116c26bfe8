package wire

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Byte offsets of fields in a record batch of format 2.
const (
	AtBatchLength     = 8
	AtMagic           = 16
	AtCRC             = 17
	AtAttributes      = 21
	AtLastOffsetDelta = 23
	AtMaxTimestamp    = 35
	AtCount           = 57
	AtRecords         = 61
)

// Record is what a test says of a record; the rest of the batch follows from it.
type Record struct {
	Key, Value []byte
	Delta      int32 // of the offset
	TimeDelta  int64 // milliseconds after the batch's first timestamp
	Headers    []kmsg.Header
}

// Batch describes a batch; Bytes encodes it with a right length and CRC.
type Batch struct {
	Attributes    int16
	FirstTime     int64 // milliseconds since 1970
	ProducerID    int64
	ProducerEpoch int16
	Sequence      int32
	Records       []Record
	Payload       []byte // replaces the encoded records when not nil, for compressed ones
}

// Values makes a batch without a producer id of records with these values, written at the time given.
func Values(timeMs int64, values ...string) Batch {
	b := Batch{FirstTime: timeMs, ProducerID: -1, ProducerEpoch: -1, Sequence: -1}
	for i, v := range values {
		b.Records = append(b.Records, Record{Value: []byte(v), Delta: int32(i)})
	}
	return b
}

// EncodeRecords gives the records as they stand in an uncompressed batch.
func (b Batch) EncodeRecords() []byte {
	var out []byte
	for _, r := range b.Records {
		record := kmsg.Record{TimestampDelta64: r.TimeDelta, OffsetDelta: r.Delta, Key: r.Key, Value: r.Value, Headers: r.Headers}
		record.Length = int32(len(record.AppendTo(nil)) - 1) // the length 0 takes one byte
		out = record.AppendTo(out)
	}
	return out
}

// Bytes encodes the batch.
func (b Batch) Bytes() []byte {
	payload := b.Payload
	if payload == nil {
		payload = b.EncodeRecords()
	}
	last, maxTime := int32(-1), b.FirstTime
	for _, r := range b.Records {
		last = r.Delta
		maxTime = max(maxTime, b.FirstTime+r.TimeDelta)
	}
	raw := kmsg.RecordBatch{
		Length: int32(AtRecords - 12 + len(payload)), PartitionLeaderEpoch: -1, Magic: 2,
		Attributes: b.Attributes, LastOffsetDelta: last, FirstTimestamp: b.FirstTime, MaxTimestamp: maxTime,
		ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, FirstSequence: b.Sequence,
		NumRecords: int32(len(b.Records)), Records: payload,
	}
	return Sealed(raw.AppendTo(nil))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sealed puts the right CRC into a batch, so that a test may change a field and nothing but that is wrong.
func Sealed(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[AtCRC:], crc32.Checksum(batch[AtAttributes:], castagnoli))
	return batch
}

// With16 and With32 change one field of an encoded batch and seal it again.
func With16(batch []byte, at int, v int16) []byte {
	binary.BigEndian.PutUint16(batch[at:], uint16(v))
	return Sealed(batch)
}

// With32 changes a four-byte field of an encoded batch and seals it again.
func With32(batch []byte, at int, v int32) []byte {
	binary.BigEndian.PutUint32(batch[at:], uint32(v))
	return Sealed(batch)
}
