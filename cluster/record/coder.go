package record

import (
	"encoding/binary"
	"math"

	"troupe/internal/model"
)

// coder reads or writes the fields of a record, so that each kind states its layout once.
// Reading consumes buf from the front and stops at the first failure (bad); every later field then stays zero.
//
// The encodings, big-endian (facts/README.md, "Wire rules"):
//
//	int8 … int64, float64   as they are
//	bool                    one byte, 0 or 1
//	uuid                    16 bytes
//	string, bytes           unsigned varint n+1, then n bytes; 0 alone is null
//	list                    unsigned varint n+1, then n elements; 0 alone is null
//	structure               its fields, then its tagged section (tags.go)
type coder struct {
	writing bool
	buf     []byte
	bad     string
}

func (c *coder) fail(reason string) {
	if c.bad == "" {
		c.bad = reason
	}
	c.buf = nil
}

// take gives the next n bytes, or nil after a failure. The length is checked before anything is allocated for it.
func (c *coder) take(n int) []byte {
	if c.bad != "" {
		return nil
	}
	if n < 0 || n > len(c.buf) {
		c.fail("a field is cut short")
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

// uvarint codes what never exceeds 32 bits in this format: lengths, counts and tags. A larger number is damage, and must
// not become a negative length.
func (c *coder) uvarint(v *uint64) {
	if c.writing {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	got, n := binary.Uvarint(c.buf)
	if n <= 0 || got > math.MaxUint32 {
		c.fail("a length is cut short or out of range")
		return
	}
	*v, c.buf = got, c.buf[n:]
}

// size codes a compact length: n+1, with 0 for null. It gives -1 for null.
func (c *coder) size(n int) int {
	v := uint64(n + 1)
	c.uvarint(&v)
	if c.bad != "" {
		return 0
	}
	return int(v) - 1
}

// bool takes any byte but 0 for true, as Kafka's reader does.
func (c *coder) bool(v *bool) {
	if c.writing {
		var b byte
		if *v {
			b = 1
		}
		c.buf = append(c.buf, b)
		return
	}
	if b := c.take(1); b != nil {
		*v = b[0] != 0
	}
}

func (c *coder) int8(v *int8) {
	if c.writing {
		c.buf = append(c.buf, byte(*v))
	} else if b := c.take(1); b != nil {
		*v = int8(b[0])
	}
}

func (c *coder) int16(v *int16) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(*v))
	} else if b := c.take(2); b != nil {
		*v = int16(binary.BigEndian.Uint16(b))
	}
}

// uint16 is for ports.
func (c *coder) uint16(v *uint16) {
	signed := int16(*v)
	c.int16(&signed)
	*v = uint16(signed)
}

// codeInt32 codes any of the 32-bit identifiers; a method cannot have a type parameter.
func codeInt32[T ~int32](c *coder, v *T) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(*v))
	} else if b := c.take(4); b != nil {
		*v = T(binary.BigEndian.Uint32(b))
	}
}

// codeInt64 codes any of the 64-bit identifiers, and times.
func codeInt64[T ~int64](c *coder, v *T) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(*v))
	} else if b := c.take(8); b != nil {
		*v = T(binary.BigEndian.Uint64(b))
	}
}

// float64 is IEEE 754, which only quotas use.
func (c *coder) float64(v *float64) {
	bits := int64(math.Float64bits(*v))
	codeInt64(c, &bits)
	*v = math.Float64frombits(uint64(bits))
}

func (c *coder) uuid(v *model.UUID) {
	if c.writing {
		c.buf = append(c.buf, v[:]...)
	} else if b := c.take(len(v)); b != nil {
		copy(v[:], b)
	}
}

func (c *coder) string(v *string) {
	n := c.size(len(*v))
	switch {
	case c.writing:
		c.buf = append(c.buf, *v...)
	case n < 0:
		c.fail("null where a string must be")
	default:
		*v = string(c.take(n))
	}
}

// nullableString keeps null and "" apart: a rack that is not set, a config that is removed.
func (c *coder) nullableString(v **string) {
	if c.writing {
		if *v == nil {
			c.size(-1)
			return
		}
		c.string(*v)
		return
	}
	n := c.size(0)
	if n < 0 || c.bad != "" {
		*v = nil
		return
	}
	s := string(c.take(n))
	*v = &s
}

// bytes copies, since what it reads from is the buffer of a batch.
func (c *coder) bytes(v *[]byte) {
	n := c.size(len(*v))
	switch {
	case c.writing:
		c.buf = append(c.buf, *v...)
	case n < 0:
		c.fail("null where bytes must be")
	default:
		*v = append([]byte{}, c.take(n)...)
	}
}

// array codes a list whose elements take at least width bytes each; nil is null where nullable says so.
func array[T any](c *coder, v *[]T, nullable bool, width int, element func(*T)) {
	n := len(*v)
	if nullable && c.writing && *v == nil {
		n = -1
	}
	n = c.size(n)
	if c.writing {
		for i := range *v {
			element(&(*v)[i])
		}
		return
	}
	switch {
	case c.bad != "":
		return
	case n < 0 && nullable:
		*v = nil
		return
	case n < 0:
		c.fail("null where a list must be")
		return
	case n > len(c.buf)/width:
		c.fail("a list is longer than its bytes")
		return
	}
	*v = make([]T, n)
	for i := range *v {
		element(&(*v)[i])
	}
}

// brokers is a list that may be empty but not null.
func (c *coder) brokers(v *[]model.BrokerID) {
	array(c, v, false, 4, func(id *model.BrokerID) { codeInt32(c, id) })
}

// nullableBrokers is a list whose null says "not given": in a change record, "leave as it is".
func (c *coder) nullableBrokers(v *[]model.BrokerID) {
	array(c, v, true, 4, func(id *model.BrokerID) { codeInt32(c, id) })
}

func (c *coder) uuids(v *[]model.UUID) {
	array(c, v, false, 16, c.uuid)
}

func (c *coder) nullableUUIDs(v *[]model.UUID) {
	array(c, v, true, 16, c.uuid)
}
