package batch

import (
	"encoding/binary"

	"troupe/codec/compress"
	"troupe/internal/model"
)

// Raw is one record as a cleaner sees it. Key aliases the batch or a buffer: it is valid until the callback returns.
type Raw struct {
	Offset model.Offset
	// Key is nil for null.
	Key []byte
	// Tombstone tells that the value is null.
	Tombstone bool

	timestamp int64
	bytes     []byte // all of the record behind its length
	end       int64  // where it ends among the plain bytes
}

// EachRaw calls f with every record in order, as Each does, without looking at values and headers. It costs a fraction
// of Each.
func (v View) EachRaw(f func(*Raw) error) error {
	c := &cursor{buf: v.Payload()}
	if v.Codec() != compress.None {
		var err error
		if c, err = openCursor(v); err != nil {
			return v.corrupt(err.Error())
		}
		defer c.close()
	}
	var r Raw
	for range v.Count() {
		if err := v.nextRaw(c, &r); err != nil {
			return v.corrupt(err.Error())
		}
		if err := f(&r); err != nil {
			return err
		}
	}
	if err := v.ended(c); err != nil {
		return v.corrupt(err.Error())
	}
	return nil
}

func (v View) nextRaw(c *cursor, r *Raw) error {
	length, ok := c.varint()
	if !ok {
		return c.why(errVarint)
	}
	if length < 0 || !c.hold(int(length)) {
		return c.why(errLength)
	}
	body := cursor{buf: c.buf[c.pos : c.pos+int(length)]}
	c.pos += int(length)
	r.bytes, r.end = body.buf, c.at()
	if !body.skip(1) {
		return errShort
	}
	timestamp, ok := body.varlong()
	if !ok {
		return errVarint
	}
	offset, ok := body.varint()
	if !ok {
		return errVarint
	}
	if r.Key, _, ok = body.bytes(int64(length), true); !ok {
		return errShort
	}
	value, ok := body.varint()
	if !ok || int64(value) > int64(length)-body.at() {
		return errShort
	}
	r.Tombstone = value < 0
	r.timestamp = v.BaseTimestamp() + timestamp
	r.Offset = v.BaseOffset() + model.Offset(offset)
	return nil
}

// Filter takes records out of batches, as compaction does: what is left keeps its bytes, its offset and its place. The
// zero Filter is ready; it keeps its memory from batch to batch.
type Filter struct {
	batch View
	plain []byte // the kept records, once one was dropped or if the batch is compressed
	out   []byte

	// Kept and Dropped count the records of the last Scan.
	Kept, Dropped int
	// Tombstones tells that a kept record has a null value.
	Tombstones bool

	latest int64 // timestamp of the kept records
}

// Scan asks keep about every record of a batch. The errors are those of Each.
func (f *Filter) Scan(v View, keep func(*Raw) bool) error {
	*f = Filter{batch: v, plain: f.plain[:0], out: f.out, latest: NoTimestamp}
	copying := v.Codec() != compress.None
	before := int64(0) // the records so far end here, in a batch of which nothing was copied yet
	return v.EachRaw(func(r *Raw) error {
		if !keep(r) {
			if !copying {
				f.plain = append(f.plain, v.Payload()[:before]...)
				copying = true
			}
			f.Dropped++
			return nil
		}
		f.Kept++
		f.Tombstones = f.Tombstones || r.Tombstone
		f.latest = max(f.latest, r.timestamp)
		if copying {
			f.plain = append(binary.AppendVarint(f.plain, int64(len(r.bytes))), r.bytes...)
		} else {
			before = r.end
		}
		return nil
	})
}

// Result gives the batch with the kept records, of which there must be one. A horizon other than NoTimestamp, in
// milliseconds, becomes the time from which tombstones and markers in the batch may go (KIP-534); the batch must have
// none yet. What nothing changed is given as it was. The result is valid until the next call.
func (f *Filter) Result(horizonMs int64) (View, error) {
	v := f.batch
	if f.Dropped == 0 && horizonMs == NoTimestamp {
		return v, nil
	}
	plain := f.plain
	if f.Dropped == 0 && v.Codec() == compress.None {
		plain = v.Payload()
	}
	base, attributes := v.BaseTimestamp(), v.Attributes()
	out := append(f.out[:0], v[:HeaderSize]...)
	if horizonMs != NoTimestamp {
		// The horizon stands where the base timestamp does, so the records are counted from it.
		plain = rebase(nil, plain, base-horizonMs)
		base, attributes = horizonMs, attributes|attrDeleteHorizon
	}
	out, err := compress.Append(out, v.Codec(), compress.DefaultLevel(v.Codec()), plain)
	if err != nil {
		return nil, err
	}
	f.out = out
	binary.BigEndian.PutUint64(out[posBaseTimestamp:], uint64(base))
	if !v.LogAppendTime() {
		binary.BigEndian.PutUint64(out[posMaxTimestamp:], uint64(f.latest))
	}
	binary.BigEndian.PutUint32(out[posCount:], uint32(f.Kept))
	return seal(out, attributes), nil
}

// rebase adds shift to the timestamp deltas of records that were read before.
func rebase(dst, records []byte, shift int64) []byte {
	for len(records) > 0 {
		length, n := binary.Varint(records)
		body := records[n : n+int(length)]
		records = records[n+int(length):]
		delta, m := binary.Varint(body[1:])
		rest := body[1+m:]
		delta += shift
		dst = binary.AppendVarint(dst, int64(1+varintSize(delta)+len(rest)))
		dst = binary.AppendVarint(append(dst, body[0]), delta)
		dst = append(dst, rest...)
	}
	return dst
}

// Emptied gives the batch without records, which keeps its offsets and tells of its producer's sequence. The result is
// valid until the next call.
func (f *Filter) Emptied() View {
	v := f.batch
	f.out = append(f.out[:0], v[:HeaderSize]...)
	binary.BigEndian.PutUint64(f.out[posBaseTimestamp:], ^uint64(0)) // NoTimestamp
	binary.BigEndian.PutUint32(f.out[posCount:], 0)
	return seal(f.out, v.Attributes()&^(attrCodec|attrDeleteHorizon))
}

// DeleteHorizon is the time in milliseconds from which tombstones and markers in the batch may go; NoTimestamp before
// a cleaner has set it.
func (v View) DeleteHorizon() int64 {
	if !v.HasDeleteHorizon() {
		return NoTimestamp
	}
	return v.BaseTimestamp()
}
