package partitionlog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// each gives the whole batches of a sealed segment from a position on, their checksums compared: what is rewritten gets a
// new checksum, which must not cover up damage.
func (p *passes) each(f vfs.File, x extent, pos int64, visit func(batch.View) error) error {
	last, have := x.base-1, []byte(nil) // have was read and not visited; it begins at pos
	for pos < x.size {
		v, _, err := batch.First(have)
		if errors.Is(err, batch.ErrIncomplete) {
			if have, err = p.read(f, pos, x.size, have); err != nil {
				return err
			}
			continue
		}
		if err == nil {
			err = checkBatch(v, last)
		}
		if err == nil {
			last = v.LastOffset()
			err = visit(v)
		}
		if errors.As(err, new(*batch.CorruptError)) {
			return &CorruptionError{File: f.Name(), Pos: pos, Offset: last + 1, Reason: "it cannot be cleaned: " + err.Error(), Err: err}
		}
		if err != nil {
			return err
		}
		have, pos = have[len(v):], pos+int64(len(v))
	}
	return nil
}

func checkBatch(v batch.View, last model.Offset) error {
	if v.BaseOffset() <= last || v.LastOffsetDelta() < 0 {
		return &batch.CorruptError{Reason: fmt.Sprintf("its offsets do not follow %d", last), Offset: v.BaseOffset()}
	}
	return v.CheckCRC()
}

// read makes more of a file available than have, the part from pos on that was read before.
func (p *passes) read(f vfs.File, pos, end int64, have []byte) ([]byte, error) {
	want := int64(p.size)
	if size, err := batch.Size(have); err == nil {
		want = max(want, int64(size))
		if int64(size) > end-pos {
			want = 0 // garbage, or torn
		}
	}
	want = min(want, end-pos)
	n := len(have)
	if want <= int64(n) {
		return nil, &CorruptionError{File: f.Name(), Pos: pos, Reason: "the file ends within a batch", Err: batch.ErrIncomplete}
	}
	if int64(cap(p.buf)) < want {
		p.buf = append(make([]byte, 0, want), have...)
	} else {
		copy(p.buf[:n], have)
	}
	p.buf = p.buf[:want]
	if err := p.passed(int(want) - n); err != nil {
		return nil, err
	}
	if err := readFull(f, p.buf[n:], pos+int64(n)); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.Join(ErrStale, err)
		}
		return nil, err
	}
	return p.buf, nil
}

// cleanWriter makes the files of a cleaned segment, under names that no start takes for a segment's.
type cleanWriter struct {
	segment  *segment
	file     vfs.File
	interval int64 // index.interval.bytes
	size     int
	passed   func(int) error
	buf      []byte
	txn      []byte // entries of the transaction index
	written  int64
}

func (c *Cleaning) newWriter(base model.Offset) (*cleanWriter, error) {
	dir := c.view.segments[0].file.dir
	s := newSegment(c.env, dir, base)
	s.file.id.state = suffixCleaned
	// A cleaning that was cut short may have left its own.
	if err := removeFiles(s.file); err != nil {
		return nil, err
	}
	f, err := s.file.pin(useCreate)
	if err != nil {
		return nil, err
	}
	return &cleanWriter{
		segment: s, file: f, interval: c.o.Config.IndexIntervalBytes, size: c.pass.size, passed: c.pass.passed,
	}, nil
}

// append makes index entries where an append would have made them.
func (w *cleanWriter) append(v batch.View) error {
	s := w.segment
	if s.size+int64(len(v)) > math.MaxInt32 {
		return fmt.Errorf("the cleaned segment at %d grows beyond 2 GiB", s.base)
	}
	entry := s.roll.sinceEntry > w.interval
	if entry {
		s.roll.sinceEntry = 0
	}
	s.index.note(v.LastOffset(), s.size, v.MaxTimestamp(), entry)
	s.roll.sinceEntry += int64(len(v))
	if s.size == 0 {
		s.firstMs.Store(v.MaxTimestamp())
	}
	s.size += int64(len(v))
	w.buf = append(w.buf, v...)
	if len(w.buf) >= w.size {
		return w.flush()
	}
	return nil
}

func (w *cleanWriter) flush() error {
	if err := w.passed(len(w.buf)); err != nil {
		return err
	}
	n, err := w.file.WriteAt(w.buf, w.written)
	w.written += int64(n)
	w.buf = w.buf[:0]
	return err
}

// finish makes the files durable, all but their names.
func (w *cleanWriter) finish() error {
	s := w.segment
	if err := w.flush(); err != nil {
		return err
	}
	if err := syncFile(w.file); err != nil {
		return err
	}
	s.index.seal()
	block := s.index.block()
	if err := block.write(true); err != nil {
		return err
	}
	block.written()
	s.written, s.saved = true, true
	s.txnIndex = txnAppender{size: int64(len(w.txn)), written: int64(len(w.txn)), synced: int64(len(w.txn))}
	s.aborted.Store(len(w.txn) > 0)
	if len(w.txn) == 0 {
		return nil
	}
	id, _ := s.file.beside(suffixTxnIndex)
	return s.file.cache.once(s.file.dir, id, os.O_RDWR|os.O_CREATE, func(f vfs.File) error {
		if _, err := f.WriteAt(w.txn, 0); err != nil {
			return err
		}
		return syncFile(f)
	})
}

// removeFiles removes all files of a segment under their present names.
func removeFiles(s *slot) error {
	var errs []error
	for _, x := range append([]suffix{suffixLog}, besides...) {
		id, _ := s.beside(x)
		errs = append(errs, s.dir.remove(id))
	}
	return errors.Join(errs...)
}
