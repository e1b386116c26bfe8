package frame

import "encoding/binary"

// Tag is one tagged field: a number and bytes whose meaning goes with it.
type Tag struct {
	Number uint32
	Value  []byte
}

// Tags are tagged fields in rising order of their numbers:
//
//	count uvarint | number uvarint, size uvarint, bytes | …
type Tags []Tag

// Get finds a field.
func (t Tags) Get(number uint32) ([]byte, bool) {
	for i := range t {
		if t[i].Number == number {
			return t[i].Value, true
		}
	}
	return nil, false
}

// leastTag is the bytes of a tagged field without a value.
const leastTag = 2

// parseTags gives the fields, which alias b, and what follows them.
func parseTags(b []byte) (Tags, []byte, error) {
	count, b, ok := uvarint(b)
	if !ok || uint64(count)*leastTag > uint64(len(b)) {
		return nil, nil, ErrHeader
	}
	if count == 0 {
		return nil, b, nil
	}
	tags := make(Tags, 0, count)
	for i := range count {
		var t Tag
		var size uint32
		if t.Number, b, ok = uvarint(b); !ok || i > 0 && t.Number <= tags[i-1].Number {
			return nil, nil, ErrHeader
		}
		if size, b, ok = uvarint(b); !ok || uint64(size) > uint64(len(b)) {
			return nil, nil, ErrHeader
		}
		t.Value, b = b[:size:size], b[size:]
		tags = append(tags, t)
	}
	return tags, b, nil
}

func appendTags(dst []byte, tags Tags) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(tags)))
	for _, t := range tags {
		dst = binary.AppendUvarint(dst, uint64(t.Number))
		dst = binary.AppendUvarint(dst, uint64(len(t.Value)))
		dst = append(dst, t.Value...)
	}
	return dst
}

// uvarint reads an unsigned number of at most 32 bits.
func uvarint(b []byte) (uint32, []byte, bool) {
	v, n := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
	if n <= 0 || v > 1<<32-1 {
		return 0, nil, false
	}
	return uint32(v), b[n:], true
}
