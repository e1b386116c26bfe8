package batch

import (
	"encoding/binary"

	"troupe/codec/compress"
	"troupe/internal/model"
)

// Options are what a batch says beside its records.
type Options struct {
	// BaseOffset is the first record's; a leader that takes the batch sets its own.
	BaseOffset  model.Offset
	LeaderEpoch model.LeaderEpoch
	Codec       compress.Codec
	// Level is on the codec's scale; see compress.DefaultLevel.
	Level int
	// Producer is nil for records without idempotence.
	Producer      *Producer
	Transactional bool
	Control       bool
}

// Producer is who wrote a batch and where the batch stands in what it wrote (KIP-98).
type Producer struct {
	ID    model.ProducerID
	Epoch model.ProducerEpoch
	// Sequence is the first record's, -1 for markers.
	Sequence model.Sequence
}

// Builder collects records into one batch.
type Builder struct {
	options Options
	// buf is room for the header, then the plain records.
	buf   []byte
	count int32
	// first is the base timestamp.
	first, latest int64
}

// NewBuilder begins a batch.
func NewBuilder(o Options) *Builder {
	return &Builder{options: o, buf: make([]byte, HeaderSize), first: NoTimestamp, latest: NoTimestamp}
}

// Add appends a record at the offset after the last one; r.Offset is not looked at.
func (b *Builder) Add(r Record) *Builder {
	if b.count == 0 {
		b.first = r.Timestamp
	}
	b.latest = max(b.latest, r.Timestamp)
	b.buf = appendRecord(b.buf, r, r.Timestamp-b.first, b.count)
	b.count++
	return b
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// Size is the bytes of the batch so far, before compression.
func (b *Builder) Size() int { return len(b.buf) }

// Build gives the batch, which takes over the Builder's buffer: the Builder is of no further use.
// It fails for a codec or a level that does not exist. A batch without records has the last offset delta 0.
func (b *Builder) Build() (View, error) {
	o := b.options
	out := b.buf
	if o.Codec != compress.None {
		var err error
		room := make([]byte, HeaderSize, HeaderSize+len(b.buf)/2)
		if out, err = compress.Append(room, o.Codec, o.Level, b.buf[HeaderSize:]); err != nil {
			return nil, err
		}
	}
	v := View(out)
	v[posMagic] = magicV2
	v.SetBaseOffset(o.BaseOffset)
	v.SetLeaderEpoch(o.LeaderEpoch)
	binary.BigEndian.PutUint32(v[posLastOffsetDelta:], uint32(max(b.count-1, 0)))
	binary.BigEndian.PutUint64(v[posBaseTimestamp:], uint64(b.first))
	binary.BigEndian.PutUint64(v[posMaxTimestamp:], uint64(b.latest))
	p := Producer{ID: model.NoProducerID, Epoch: -1, Sequence: -1}
	if o.Producer != nil {
		p = *o.Producer
	}
	binary.BigEndian.PutUint64(v[posProducerID:], uint64(p.ID))
	binary.BigEndian.PutUint16(v[posProducerEpoch:], uint16(p.Epoch))
	binary.BigEndian.PutUint32(v[posBaseSequence:], uint32(p.Sequence))
	binary.BigEndian.PutUint32(v[posCount:], uint32(b.count))
	return seal(out, o.attributes()), nil
}

func (o Options) attributes() int16 {
	a := int16(o.Codec)
	if o.Transactional {
		a |= attrTransactional
	}
	if o.Control {
		a |= attrControl
	}
	return a
}

// seal writes what depends on all the rest: the length, the attributes and the checksum.
func seal(b []byte, attributes int16) View {
	v := View(b)
	binary.BigEndian.PutUint32(v[posLength:], uint32(len(v)-LengthEnd))
	binary.BigEndian.PutUint16(v[posAttributes:], uint16(attributes))
	v.updateCRC()
	return v
}

// appendRecord writes a record with its length in front, which has to be known first.
func appendRecord(dst []byte, r Record, timestampDelta int64, offsetDelta int32) []byte {
	length := 1 + varintSize(timestampDelta) + varintSize(int64(offsetDelta)) + bytesSize(r.Key) + bytesSize(r.Value) +
		varintSize(int64(len(r.Headers)))
	for _, h := range r.Headers {
		length += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	dst = binary.AppendVarint(dst, int64(length))
	dst = append(dst, 0)
	dst = binary.AppendVarint(dst, timestampDelta)
	dst = binary.AppendVarint(dst, int64(offsetDelta))
	dst = appendBytes(dst, r.Key)
	dst = appendBytes(dst, r.Value)
	dst = binary.AppendVarint(dst, int64(len(r.Headers)))
	for _, h := range r.Headers {
		dst = binary.AppendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendBytes(dst, h.Value)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

// varintSize is the bytes of a zig-zag number, seven bits each.
func varintSize(v int64) int {
	n := 1
	for u := uint64(v<<1) ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
