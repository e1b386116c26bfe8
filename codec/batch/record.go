package batch

import (
	"troupe/codec/compress"
	"troupe/internal/model"
)

// Record is one record. What a batch hands out aliases the batch or a buffer: it is valid until the callback returns.
type Record struct {
	Offset model.Offset
	// Timestamp is in milliseconds, NoTimestamp for none. Under LogAppendTime it is that of the batch.
	Timestamp int64
	// Key and Value are nil for null, which is not the same as empty.
	Key, Value []byte
	Headers    []Header
}

// Header is one header of a record; keys may repeat.
type Header struct {
	Key string
	// Value is nil for null.
	Value []byte
}

// fields are a record as it stands in the batch.
type fields struct {
	timestampDelta int64
	offsetDelta    int32
	keyed          bool
	// The rest is filled only when the record is kept.
	key, value []byte
	headers    []Header
}

// Each calls f with every record in order, decompressing as needed, until f or the format fails; f's error is returned
// as it is. A batch that cannot be read is a *CorruptError. CheckCRC is the caller's. f must not read another compressed
// batch: wide zstd windows are given out one at a time.
func (v View) Each(f func(Record) error) error {
	if v.Codec() == compress.None {
		c := cursor{buf: v.Payload()}
		return v.each(&c, f)
	}
	c, err := openCursor(v)
	if err != nil {
		return v.corrupt(err.Error())
	}
	defer c.close()
	return v.each(c, f)
}

func (v View) each(c *cursor, f func(Record) error) error {
	var r fields
	for range v.Count() {
		if err := c.next(&r, true); err != nil {
			return v.corrupt(err.Error())
		}
		if err := f(v.record(&r)); err != nil {
			return err
		}
	}
	if err := v.ended(c); err != nil {
		return v.corrupt(err.Error())
	}
	return nil
}

// record places the fields in the log: offsets and timestamps are relative to the batch.
func (v View) record(r *fields) Record {
	timestamp := v.MaxTimestamp()
	if !v.LogAppendTime() {
		timestamp = v.BaseTimestamp() + r.timestampDelta
	}
	return Record{
		Offset: v.BaseOffset() + model.Offset(r.offsetDelta), Timestamp: timestamp,
		Key: r.key, Value: r.value, Headers: r.headers,
	}
}

// ended checks that the batch held as many records as it said.
func (v View) ended(c *cursor) error {
	switch {
	case v.Count() < 0:
		return errCount
	case !c.done():
		return errTrailing
	}
	return c.err
}

// next reads one record. Unless it is kept, its key, value and headers are only passed over.
func (c *cursor) next(r *fields, keep bool) error {
	length, ok := c.varint()
	if !ok {
		return c.why(errVarint)
	}
	// Whatever is plain is there as a whole; of a compressed batch only so much is unpacked as a record that is kept needs.
	if length < 0 || c.from == nil && int(length) > len(c.buf)-c.pos || keep && !c.hold(int(length)) {
		return c.why(errLength)
	}
	end := c.at() + int64(length)
	// The attributes of a record have no meaning yet.
	if !c.skip(1) {
		return c.why(errShort)
	}
	if r.timestampDelta, ok = c.varlong(); !ok {
		return c.why(errVarint)
	}
	if r.offsetDelta, ok = c.varint(); !ok {
		return c.why(errVarint)
	}
	if r.key, r.keyed, ok = c.bytes(end, keep); !ok {
		return c.why(errShort)
	}
	if r.value, _, ok = c.bytes(end, keep); !ok {
		return c.why(errShort)
	}
	if err := c.headers(r, end, keep); err != nil {
		return err
	}
	if c.at() != end {
		return errLong
	}
	return nil
}

func (c *cursor) headers(r *fields, end int64, keep bool) error {
	n, ok := c.varint()
	if !ok {
		return c.why(errVarint)
	}
	// A header takes two bytes at least.
	if n < 0 || 2*int64(n) > end-c.at() {
		return errHeaders
	}
	r.headers = r.headers[:0]
	for range n {
		key, named, ok := c.bytes(end, keep)
		if !ok || !named {
			return c.why(errHeaders)
		}
		value, _, ok := c.bytes(end, keep)
		if !ok {
			return c.why(errShort)
		}
		if keep {
			r.headers = append(r.headers, Header{Key: string(key), Value: value})
		}
	}
	return nil
}

// bytes reads a length and as many bytes; any negative length means null, as Kafka reads it.
func (c *cursor) bytes(end int64, keep bool) (b []byte, present, ok bool) {
	n, ok := c.varint()
	if !ok {
		return nil, false, false
	}
	if n < 0 {
		return nil, false, true
	}
	if int64(n) > end-c.at() {
		return nil, false, false
	}
	if !keep {
		return nil, true, c.skip(int(n))
	}
	b = c.buf[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return b, true, true
}
