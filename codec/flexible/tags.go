package flexible

import "encoding/binary"

// Field is one tagged field: written only when set says that it differs from its default, read when it is there.
type Field struct {
	tag  uint64
	set  bool
	code func()
}

// Tag makes a tagged field.
func Tag(tag uint64, set bool, code func()) Field { return Field{tag, set, code} }

// Tags codes the tagged section that ends every flexible structure: count, then tag, size and bytes in rising order of
// tag. Unknown tags are skipped when read, so a newer minor field does not stop an older reader.
func (c *Coder) Tags(fields ...Field) {
	if c.writing {
		c.writeTags(fields)
		return
	}
	var count uint64
	c.uvarint(&count)
	for next := uint64(0); count > 0 && c.bad == ""; count-- {
		var tag, size uint64
		c.uvarint(&tag)
		c.uvarint(&size)
		// KIP-482 demands the order, and a tag that comes twice would set a field twice.
		if c.bad == "" && tag < next {
			c.fail("tagged fields are not in rising order")
			return
		}
		next = tag + 1
		// The value is read on its own, so that a field cannot run into the next one.
		value := c.take(int(size))
		rest := c.buf
		if c.bad != "" {
			return
		}
		for _, f := range fields {
			if f.tag != tag {
				continue
			}
			c.buf = value
			f.code()
			if c.bad == "" && len(c.buf) != 0 {
				c.fail("a tagged field is longer than its value")
			}
		}
		if c.bad == "" {
			c.buf = rest
		}
	}
}

// writeTags writes each value apart first, because its size stands before it. Fields come in the order given, which the
// callers keep rising.
func (c *Coder) writeTags(fields []Field) {
	var count uint64
	for _, f := range fields {
		if f.set {
			count++
		}
	}
	c.uvarint(&count)
	for _, f := range fields {
		if !f.set {
			continue
		}
		c.buf = binary.AppendUvarint(c.buf, f.tag)
		outer := c.buf
		c.buf = nil
		f.code()
		value := c.buf
		c.buf = append(binary.AppendUvarint(outer, uint64(len(value))), value...)
	}
}
