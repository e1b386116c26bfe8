package batch

import (
	"encoding/binary"
	"io"
	"sync"

	"troupe/codec/compress"
)

const (
	// windowSize is what a cursor over a compressed batch holds of the plain bytes, as long as no record is larger.
	windowSize = 16 << 10
	// windowKeep is the largest window that is kept for the next batch.
	windowKeep = 256 << 10
	// walkLimit bounds the plain bytes that are decompressed of one batch, so that a bomb costs seconds at the most.
	walkLimit = 1 << 30
	// holdLimit bounds what of a compressed batch may be in memory at once.
	holdLimit = 128 << 20
)

// malformed is how records break their format.
type malformed string

func (m malformed) Error() string { return string(m) }

const (
	errVarint   malformed = "a number is cut off or too long"
	errLength   malformed = "a record is longer than the rest of the batch"
	errShort    malformed = "a record ends before its fields do"
	errLong     malformed = "a record goes on after its fields"
	errHeaders  malformed = "the number of headers is impossible"
	errCount    malformed = "the number of records is negative"
	errTrailing malformed = "bytes follow the last record"
)

// cursor reads records from the plain bytes of a batch, which are all there or come out of a decompressor.
type cursor struct {
	// buf[pos:] is not read yet.
	buf []byte
	pos int
	// before is the number of plain bytes that came before buf.
	before int64
	// from is nil when buf is everything.
	from *compress.Reader
	// err is why from gave no more; nil at its proper end.
	err error
}

var cursors = sync.Pool{New: func() any { return &cursor{buf: make([]byte, 0, windowSize)} }}

// openCursor is for compressed batches; close gives the window back.
func openCursor(v View) (*cursor, error) {
	from, err := compress.Open(v.Codec(), v.Payload())
	if err != nil {
		return nil, err
	}
	c := cursors.Get().(*cursor)
	*c = cursor{buf: c.buf[:0], from: from}
	return c, nil
}

func (c *cursor) close() {
	c.from.Close()
	if cap(c.buf) <= windowKeep {
		cursors.Put(c)
	}
}

// at counts the plain bytes that are read.
func (c *cursor) at() int64 { return c.before + int64(c.pos) }

// hold brings the next n bytes into buf, as far as they exist. The window grows only behind bytes that did come,
// whatever n is.
func (c *cursor) hold(n int) bool {
	if n <= len(c.buf)-c.pos {
		return true
	}
	if c.from == nil || c.err != nil {
		return false
	}
	if n > holdLimit {
		c.err = compress.ErrTooLarge
		return false
	}
	c.before += int64(c.pos)
	c.buf = c.buf[:copy(c.buf, c.buf[c.pos:])]
	c.pos = 0
	for n > len(c.buf) {
		if len(c.buf) == cap(c.buf) {
			c.buf = append(c.buf, make([]byte, cap(c.buf))...)[:len(c.buf)]
		}
		got, err := c.from.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+got]
		if err == nil && c.before+int64(len(c.buf)) > walkLimit {
			err = compress.ErrTooLarge
		}
		if err != nil {
			if err != io.EOF {
				c.err = err
			}
			return n <= len(c.buf)
		}
	}
	return true
}

// skip passes over n bytes, without holding them all at once.
func (c *cursor) skip(n int) bool {
	for n > len(c.buf)-c.pos {
		n -= len(c.buf) - c.pos
		c.pos = len(c.buf)
		if !c.hold(1) {
			return false
		}
	}
	c.pos += n
	return true
}

// done tells whether all is read.
func (c *cursor) done() bool { return c.pos == len(c.buf) && !c.hold(1) }

// varint reads a zig-zag number of at most five bytes. Nearly all have one or two.
func (c *cursor) varint() (int32, bool) {
	if b := c.buf[c.pos:]; len(b) > 1 {
		u := uint32(b[0])
		if u < 0x80 {
			c.pos++
			return int32(u>>1) ^ -int32(u&1), true
		}
		if b[1] < 0x80 {
			c.pos += 2
			u = u&0x7f | uint32(b[1])<<7
			return int32(u>>1) ^ -int32(u&1), true
		}
	}
	v, ok := c.wide(binary.MaxVarintLen32)
	return int32(v), ok && int64(int32(v)) == v
}

// varlong reads a zig-zag number of at most ten bytes.
func (c *cursor) varlong() (int64, bool) {
	if c.pos < len(c.buf) && c.buf[c.pos] < 0x80 {
		u := c.buf[c.pos]
		c.pos++
		return int64(u>>1) ^ -int64(u&1), true
	}
	return c.wide(binary.MaxVarintLen64)
}

func (c *cursor) wide(most int) (int64, bool) {
	c.hold(most) // the end may come sooner: the number then tells whether it is whole
	unread := c.buf[c.pos:]
	v, n := binary.Varint(unread[:min(most, len(unread))])
	if n <= 0 {
		return 0, false
	}
	c.pos += n
	return v, true
}

// why is the error for a read that failed: the decompressor's, if it was its fault.
func (c *cursor) why(m malformed) error {
	if c.err != nil {
		return c.err
	}
	return m
}
