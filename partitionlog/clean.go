package partitionlog

import (
	"errors"
	"io"
	"io/fs"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/compact"
	"troupe/partitionlog/producer"
)

// CleanOptions say how a log is cleaned.
type CleanOptions struct {
	Config Config
	Range  compact.Range
	NowMs  int64
	// Producers are those that the log knows at the start. The last batch of each stays.
	Producers []producer.Entry
	// MapBytes bounds the memory for keys, and KeyLoad the share of it that is used. What it cannot hold is left to the
	// next cleaning.
	MapBytes int64
	KeyLoad  float64
	// BufferBytes is the size of a read and of a write; it grows for a batch that is larger.
	BufferBytes int
	// Passed is told of the bytes of each read and write, and may hold them back. Its error ends the cleaning.
	Passed func(bytes int) error
}

// Cleaning compacts one log (facts/storage-format.md 9). It works on a lane for as long as it takes and does not disturb
// the log: it reads through a view and writes files that are no part of it. What it made of each group of segments is a
// Replacement, which the owner of the log puts in place.
//
//	Map()   dirty part -> newest offset of each key
//	Next()  segments   -> NNN.log.cleaned and its indexes, a group at a time
//
// The groups are replaced in order, each before the next is made: a tombstone goes only after what it deletes. The view
// is one that was flushed: were the power to take a marker, what was dropped by its decision would be missing.
type Cleaning struct {
	env  *Env
	view *View
	o    CleanOptions
	pass passes

	offsets  *compact.Offsets
	retainer *compact.Retainer
	filter   batch.Filter
	sources  []int // indexes of the groups' first segments in the view, and the end
	group    int
}

// passes is what reads and writes share.
type passes struct {
	size   int
	passed func(int) error
	buf    []byte
}

// Clean begins the cleaning of what a view covers.
func (v *View) Clean(env *Env, o CleanOptions) *Cleaning {
	return &Cleaning{env: env, view: v, o: o, pass: passes{size: max(o.BufferBytes, 4<<10), passed: o.Passed}}
}

// Map reads the dirty part, or as much of it as there is memory for, and notes the newest offset of each key. The errors
// are those of the disk, *CorruptionError, ErrStale, and Passed's.
func (c *Cleaning) Map() error {
	r := c.o.Range
	c.offsets = compact.NewOffsets(c.o.MapBytes, c.o.KeyLoad, int64(r.End-r.Dirty))
	m := compact.NewMapper(c.offsets, r.Dirty)
	segments := c.view.segments
	for i := max(0, segmentAt(segments, r.Dirty)); i < len(segments)-1 && segments[i].base < r.End; i++ {
		full, err := c.mapSegment(c.view.extent(i), i, m)
		if err != nil {
			return err
		}
		if full {
			break
		}
		c.offsets.Reach(segments[i+1].base)
	}
	c.retainer = compact.NewRetainer(c.offsets, c.o.Producers, c.o.Config.compaction(), c.o.NowMs)
	c.plan()
	return nil
}

// plan groups the segments that hold what was mapped, and all before.
func (c *Cleaning) plan() {
	layout := c.view.layout(model.NoOffset).Segments
	n := 0
	for n < len(layout)-1 && layout[n].Base < c.offsets.End() {
		n++
	}
	end := layout[n].Base
	c.sources = []int{0}
	for _, length := range compact.Group(layout[:n], end, c.o.Config.compaction()) {
		c.sources = append(c.sources, c.sources[len(c.sources)-1]+length)
	}
}

// errFull ends the first pass.
var errFull = errors.New("the memory for keys is used up")

func (c *Cleaning) mapSegment(x extent, i int, m *compact.Mapper) (full bool, err error) {
	// A marker before the dirty part is not met, so its transaction must not seem to go on.
	entries, err := c.view.abortions(i, max(x.base, c.o.Range.Dirty))
	if err != nil {
		return false, err
	}
	m.Expect(entries)
	record := func(r *batch.Raw) error {
		if !m.Record(r.Key, r.Offset) {
			return errFull
		}
		return nil
	}
	err = x.withFile(func(f vfs.File) error {
		pos, err := c.view.locate(f, x, c.o.Range.Dirty)
		if err != nil {
			return err
		}
		return c.pass.each(f, x, pos, func(v batch.View) error {
			b, err := describe(v)
			if err != nil || !m.Batch(b) {
				return err
			}
			return v.EachRaw(record)
		})
	})
	if errors.Is(err, errFull) {
		return true, nil
	}
	return false, err
}

// describe gives what the rules need of a batch.
func describe(v batch.View) (compact.Batch, error) {
	b := compact.Batch{
		LastOffset: v.LastOffset(), ProducerID: v.ProducerID(), ProducerEpoch: v.ProducerEpoch(),
		Transactional: v.Transactional(), Control: v.Control(), HorizonMs: v.DeleteHorizon(),
	}
	if !b.Control || v.Count() == 0 {
		return b, nil
	}
	b.Marker = compact.OtherControl
	m, known, err := parseMarker(v)
	switch {
	case !known:
	case m.Abort:
		b.Marker = compact.Abort
	default:
		b.Marker = compact.Commit
	}
	return b, err
}

// abortions lists the aborted transactions with records in a segment that end at or after an offset. Those that end later
// stand in later indexes.
func (v *View) abortions(i int, from model.Offset) (out []producer.Completed, err error) {
	to := v.segments[i+1].base
	for _, s := range v.segments[i:] {
		if !s.aborted.Load() {
			continue
		}
		entries, err := readTxnIndex(s)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(ErrStale, err)
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.LastOffset >= from && e.FirstOffset < to {
				out = append(out, e)
			}
			if e.LastStable >= to {
				return out, nil
			}
		}
	}
	return out, nil
}

// End is the offset up to which the log is clean once every Replacement is in place. It is known after Map.
func (c *Cleaning) End() model.Offset { return c.offsets.End() }

// Next makes the replacement of the next group of segments; io.EOF after the last. The errors are those of Map.
func (c *Cleaning) Next() (*Replacement, error) {
	if c.group == len(c.sources)-1 {
		return nil, io.EOF
	}
	from, to := c.sources[c.group], c.sources[c.group+1]
	c.group++
	w, err := c.newWriter(c.view.segments[from].base)
	if err != nil {
		return nil, err
	}
	defer w.segment.file.unpin()
	r := &Replacement{sources: c.view.segments[from:to:to], segment: w.segment}
	for i := from; i < to && err == nil; i++ {
		err = c.rewrite(c.view.extent(i), i, w)
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return nil, errors.Join(err, r.Discard())
	}
	return r, nil
}

func (c *Cleaning) rewrite(x extent, i int, w *cleanWriter) error {
	entries, err := c.view.abortions(i, x.base)
	if err != nil {
		return err
	}
	c.retainer.Expect(entries)
	return x.withFile(func(f vfs.File) error {
		return c.pass.each(f, x, 0, func(v batch.View) error { return c.retain(v, w) })
	})
}

// retain writes what is left of a batch.
func (c *Cleaning) retain(v batch.View, w *cleanWriter) error {
	b, err := describe(v)
	if err != nil {
		return err
	}
	verdict := c.retainer.Batch(b)
	if verdict.Aborted != nil {
		w.txn = appendTxnEntry(w.txn, *verdict.Aborted)
	}
	if verdict.Discard && !verdict.KeepEmpty {
		return nil
	}
	err = c.filter.Scan(v, func(r *batch.Raw) bool {
		return !verdict.Discard && c.retainer.Record(r.Key, r.Offset, r.Tombstone)
	})
	if err != nil {
		return err
	}
	if c.filter.Kept == 0 {
		if verdict.KeepEmpty {
			return w.append(c.filter.Emptied())
		}
		return nil
	}
	left, err := c.filter.Result(c.retainer.Horizon(c.filter.Tombstones))
	if err != nil {
		return err
	}
	return w.append(left)
}
