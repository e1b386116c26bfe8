// Package flexible codes records in Kafka's flexible encoding (KIP-482), for those that no library knows: of the metadata
// log and of the coordinators' topics. Messages between clients and brokers are kmsg's.
package flexible

import (
	"encoding/binary"
	"math"

	"troupe/internal/model"
)

// Coder reads or writes the fields of a record, so that each kind states its layout once.
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
type Coder struct {
	writing bool
	buf     []byte
	bad     string
}

// Writer appends to dst.
func Writer(dst []byte) *Coder { return &Coder{writing: true, buf: dst} }

// Reader reads b.
func Reader(b []byte) *Coder { return &Coder{buf: b} }

// Buffer is what was written, or what is not read yet.
func (c *Coder) Buffer() []byte { return c.buf }

// End tells what was wrong with what was read, of which nothing may be left; "" is nothing.
func (c *Coder) End() string {
	if c.bad == "" && len(c.buf) != 0 {
		c.fail("bytes follow the last field")
	}
	return c.bad
}

func (c *Coder) fail(reason string) {
	if c.bad == "" {
		c.bad = reason
	}
	c.buf = nil
}

// take gives the next n bytes, or nil after a failure. The length is checked before anything is allocated for it.
func (c *Coder) take(n int) []byte {
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
func (c *Coder) uvarint(v *uint64) {
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
func (c *Coder) size(n int) int {
	v := uint64(n + 1)
	c.uvarint(&v)
	if c.bad != "" {
		return 0
	}
	return int(v) - 1
}

// Bool takes any byte but 0 for true, as Kafka's reader does.
func (c *Coder) Bool(v *bool) {
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

func (c *Coder) Int8(v *int8) {
	if c.writing {
		c.buf = append(c.buf, byte(*v))
	} else if b := c.take(1); b != nil {
		*v = int8(b[0])
	}
}

func (c *Coder) Int16(v *int16) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(*v))
	} else if b := c.take(2); b != nil {
		*v = int16(binary.BigEndian.Uint16(b))
	}
}

// Uint16 is for ports.
func (c *Coder) Uint16(v *uint16) {
	signed := int16(*v)
	c.Int16(&signed)
	if !c.writing { // what is written may be read by others meanwhile
		*v = uint16(signed)
	}
}

// Int32 codes any of the 32-bit identifiers; a method cannot have a type parameter.
func Int32[T ~int32](c *Coder, v *T) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(*v))
	} else if b := c.take(4); b != nil {
		*v = T(binary.BigEndian.Uint32(b))
	}
}

// Int64 codes any of the 64-bit identifiers, and times.
func Int64[T ~int64](c *Coder, v *T) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(*v))
	} else if b := c.take(8); b != nil {
		*v = T(binary.BigEndian.Uint64(b))
	}
}

// Float64 is IEEE 754, which only quotas use.
func (c *Coder) Float64(v *float64) {
	bits := int64(math.Float64bits(*v))
	Int64(c, &bits)
	if !c.writing {
		*v = math.Float64frombits(uint64(bits))
	}
}

func (c *Coder) UUID(v *model.UUID) {
	if c.writing {
		c.buf = append(c.buf, v[:]...)
	} else if b := c.take(len(v)); b != nil {
		copy(v[:], b)
	}
}

func (c *Coder) String(v *string) {
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

// NullableString keeps null and "" apart: a rack that is not set, a config that is removed.
func (c *Coder) NullableString(v **string) {
	if c.writing {
		if *v == nil {
			c.size(-1)
			return
		}
		c.String(*v)
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

// Bytes copies, since what it reads from is the buffer of a batch.
func (c *Coder) Bytes(v *[]byte) {
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

// BytesInPlace is Bytes without the copy: what is read lies in the buffer.
func (c *Coder) BytesInPlace(v *[]byte) {
	if c.writing {
		c.Bytes(v)
		return
	}
	n := c.size(0)
	if n < 0 {
		c.fail("null where bytes must be")
		return
	}
	b := c.take(n)
	*v = b[:len(b):len(b)]
}

// Array codes a list whose elements take at least width bytes each; nil is null where nullable says so.
func Array[T any](c *Coder, v *[]T, nullable bool, width int, element func(*T)) {
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

func (c *Coder) UUIDs(v *[]model.UUID) {
	Array(c, v, false, 16, c.UUID)
}

func (c *Coder) NullableUUIDs(v *[]model.UUID) {
	Array(c, v, true, 16, c.UUID)
}
