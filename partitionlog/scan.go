package partitionlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sync"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// readFull reads all of p; a file that ends early is io.ErrUnexpectedEOF.
func readFull(f vfs.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

const (
	// headerWindow is read to walk over the headers of large batches, smallWindow after a batch smaller than smallBatch.
	headerWindow = 512
	smallBatch   = 4 << 10
	smallWindow  = 32 << 10
	// bodyWindow is read to walk over whole batches.
	bodyWindow = 256 << 10
)

var windows = sync.Pool{New: func() any { b := make([]byte, bodyWindow); return &b }}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// scanner walks over the batches of a segment file from a position where one begins. It is for one goroutine, which
// calls close at the end.
//
// It goes by the length in each header and can only go forward: there is no way to find a batch from its middle, or the
// one before. That is what the indexes are for.
//
// Invariants: pos is the start of a batch or end; what precedes it was plausible; loaded, when set, holds the bytes of
// the file from at on.
type scanner struct {
	file vfs.File
	base model.Offset // of the segment
	pos  int64        // of the next batch
	end  int64        // of the file
	last model.Offset // of the batch before; what follows has to lie behind it
	// before is the size of the batch before, 0 at the first.
	before int64
	// checkLast compares the checksum of the batch that ends the file, whatever next is asked for.
	checkLast bool
	// eager is for a walk to the end of a file that may not be in the page cache: see lookAhead. ahead is how far it came.
	eager bool
	ahead int64

	buf    *[]byte
	loaded []byte // buf's part that holds the file from loadedAt on
	at     int64
}

func newScanner(f vfs.File, base model.Offset, pos, end int64) *scanner {
	return &scanner{file: f, base: base, pos: pos, end: end, last: base - 1, buf: windows.Get().(*[]byte)}
}

func (s *scanner) close() {
	windows.Put(s.buf)
	s.buf, s.loaded = nil, nil
}

// found is a batch in a file. Only the header of view is there unless the whole batch was asked for.
type found struct {
	view batch.View
	pos  int64
	size int64
}

func (f found) end() int64 { return f.pos + f.size }

// unchecked is for next, when headers are enough.
const unchecked model.Offset = math.MaxInt64

// next gives the next batch, valid until the call after; io.EOF at the end of the file. A batch that ends at or after
// the offset is read whole and its checksum compared. One that is cut off or damaged is a *CorruptionError.
func (s *scanner) next(checkFrom model.Offset) (found, error) {
	if s.pos >= s.end {
		return found{}, io.EOF
	}
	window := headerWindow
	switch {
	case checkFrom != unchecked:
		window = bodyWindow
	case s.before > 0 && s.before < smallBatch:
		window = smallWindow
	case s.checkLast && s.end-s.pos <= s.before: // the last one, it seems
		window = bodyWindow
	}
	// The header is read with what follows it, as far as the window goes: often that is the whole batch, or several.
	head, err := s.load(batch.HeaderSize, window)
	if err != nil {
		return found{}, err
	}
	size, err := batch.Size(head)
	// A length that goes beyond the file is a torn write, or garbage. It is found out before anything is allocated.
	if err == nil && int64(size) > s.end-s.pos {
		err = batch.ErrIncomplete
	}
	if err != nil {
		return found{}, s.corrupt("no whole record batch", err)
	}
	b := found{view: batch.View(head[:batch.HeaderSize]), pos: s.pos, size: int64(size)}
	if err := s.plausible(b.view); err != nil {
		return found{}, err
	}
	if b.view.LastOffset() >= checkFrom || s.checkLast && b.end() == s.end {
		if err := s.checkCRC(&b, window); err != nil {
			return found{}, err
		}
	}
	s.last = b.view.LastOffset()
	s.pos += b.size
	s.before = b.size
	if s.eager && b.size >= smallBatch {
		s.lookAhead()
	}
	return b, nil
}

// lookAheadMost is how many headers are asked for at once.
const lookAheadMost = 16

// lookAhead has the disk look for the next headers, and for the batch that is read whole, side by side: where they are is
// known only from the one before, but most producers fill their batches, so that these are of one size. A guess that is
// wrong costs a page. Where the next one is in the page cache the others are taken to be there too.
func (s *scanner) lookAhead() {
	if s.ahead > s.pos || s.pos >= s.end {
		return
	}
	var probe [1]byte
	if _, cached, err := s.file.ReadAtCached(probe[:], s.pos); cached || err != nil {
		s.ahead = s.pos + lookAheadMost*s.before
		return
	}
	at := s.pos
	for n := 0; n < lookAheadMost && s.end-at >= batch.HeaderSize; n++ {
		want := int64(batch.HeaderSize)
		if s.checkLast && s.end-at <= s.before {
			want = s.end - at
		}
		s.file.WillNeed(at, want)
		at += s.before
	}
	s.ahead = at
}

// plausible checks what the checksum does not cover: the base offset is outside of it, since the leader sets it. The last
// delta is inside, but the checksum is not always compared.
func (s *scanner) plausible(v batch.View) error {
	first, last := v.BaseOffset(), v.LastOffset()
	if v.LastOffsetDelta() < 0 || first <= s.last || last-s.base > math.MaxInt32 {
		return s.corrupt(fmt.Sprintf("offsets %d to %d do not follow %d in a segment that begins at %d",
			first, last, s.last, s.base), nil)
	}
	return nil
}

// checkCRC reads a batch whole, in one piece where the window holds it.
func (s *scanner) checkCRC(b *found, window int) error {
	if b.size <= bodyWindow {
		whole, err := s.load(int(b.size), window)
		if err != nil {
			return err
		}
		b.view = batch.View(whole[:b.size:b.size])
		if err := b.view.CheckCRC(); err != nil {
			return s.corrupt("the checksum does not match", err)
		}
		return nil
	}
	// A batch larger than the window is summed up in parts, so that a length that is garbage costs no memory.
	head := append(batch.View(nil), b.view...)
	sum := crc32.Checksum(head[crcBegin:], castagnoli)
	for at := b.pos + batch.HeaderSize; at < b.end(); {
		part := (*s.buf)[:min(bodyWindow, b.end()-at)]
		s.loaded = nil
		if err := readFull(s.file, part, at); err != nil {
			return s.unreadable(err)
		}
		sum = crc32.Update(sum, castagnoli, part)
		at += int64(len(part))
	}
	if sum != binary.BigEndian.Uint32(head[crcAt:]) {
		return s.corrupt("the checksum does not match", nil)
	}
	b.view = head
	return nil
}

// The checksum stands at crcAt and covers what follows it (facts/storage-format.md 3).
const (
	crcAt    = 17
	crcBegin = 21
)

// whole reads all of a batch, whatever its size.
func (s *scanner) whole(b found) (batch.View, error) { return readBatch(s.file, b.pos, b.size) }

func readBatch(f vfs.File, pos, size int64) (batch.View, error) {
	v := make(batch.View, size)
	if err := readFull(f, v, pos); err != nil {
		return nil, err
	}
	return v, nil
}

// load makes at least n bytes from pos on available, reading a window at a time.
func (s *scanner) load(n, window int) ([]byte, error) {
	if int64(n) > s.end-s.pos {
		return nil, s.corrupt("the file ends within a batch", batch.ErrIncomplete)
	}
	if have := s.pos - s.at; s.loaded != nil && have >= 0 && have+int64(n) <= int64(len(s.loaded)) {
		return s.loaded[have:], nil
	}
	s.loaded = (*s.buf)[:min(int64(max(n, window)), s.end-s.pos)]
	s.at = s.pos
	if err := readFull(s.file, s.loaded, s.pos); err != nil {
		s.loaded = nil
		return nil, s.unreadable(err)
	}
	return s.loaded, nil
}

// unreadable: a file shorter than its size says has been truncated by somebody meanwhile.
func (s *scanner) unreadable(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.Join(ErrStale, err)
	}
	return err
}

func (s *scanner) corrupt(reason string, err error) error {
	return &CorruptionError{File: s.file.Name(), Pos: s.pos, Offset: s.last + 1, Reason: reason, Err: err}
}

// scanTo walks over headers to the first batch that ends at or after an offset; its position is the file's end when
// there is none.
func (s *scanner) scanTo(o model.Offset) (found, error) {
	for {
		b, err := s.next(unchecked)
		if errors.Is(err, io.EOF) {
			return found{pos: s.end}, nil
		}
		if err != nil || b.view.LastOffset() >= o {
			return b, err
		}
	}
}
