package listener

import (
	"errors"
	"io"

	"troupe/codec/frame"
)

// frames cuts a connection's bytes into frames. It keeps no buffer while nothing is there to be read.
type frames struct {
	src   source
	limit int    // socket.request.max.bytes
	waits func() // called before each read

	chunk      *chunk
	start, end int // of the bytes in chunk that are not cut yet
	need       int // size of the frame that is not whole yet, as far as is known
	last       int // size of the last frame
	want       int // size of the next chunk
}

// source waits for bytes and reads them into a buffer that it asks for only then.
type source interface {
	ReadInto(b buffers) (int, error)
}

// buffers lends the place to read into.
type buffers interface {
	room() []byte
	// spare takes the place back while there is nothing to read.
	spare()
}

// errPeerGone says that the peer closed between two frames.
var errPeerGone = errors.New("connection closed by the peer")

// next gives a frame and the chunk that holds it, with a reference for the caller. Big frames grow with the bytes
// that arrive, so that a claimed size costs nothing by itself.
func (f *frames) next() (*chunk, []byte, error) {
	for {
		have := f.end - f.start
		f.need = frame.SizeLen
		if have >= frame.SizeLen {
			n, err := frame.Size(f.chunk.buf[f.start:f.end], f.limit)
			if err != nil {
				return nil, nil, err
			}
			f.need += n
			if have >= f.need {
				body := f.chunk.buf[f.start+frame.SizeLen : f.start+f.need : f.start+f.need]
				f.start += f.need
				f.last = f.need
				c := f.chunk
				c.retain()
				if f.start == f.end {
					f.drop()
				}
				return c, body, nil
			}
		}
		if f.waits != nil {
			f.waits()
		}
		if err := f.fill(); err != nil {
			return nil, nil, err
		}
	}
}

// fill waits for more bytes. A peer may leave between two frames, not within one.
func (f *frames) fill() error {
	n, err := f.src.ReadInto(f)
	if n > 0 {
		f.end += n
		f.adapt(n)
	}
	switch {
	case err == io.EOF && f.end > f.start:
		return io.ErrUnexpectedEOF
	case err == io.EOF:
		return errPeerGone
	}
	return err
}

// room gives the free part of a chunk in which the unfinished frame can be completed.
func (f *frames) room() []byte {
	have := f.end - f.start
	// A chunk that begins with a frame too large for it is filled before that frame moves on.
	if f.chunk != nil && f.end < len(f.chunk.buf) && (f.start == 0 || f.start+f.need <= len(f.chunk.buf)) {
		return f.upToFrame()
	}
	size := max(f.want, smallChunk)
	if f.need > size {
		// A large frame gets room as its bytes arrive, not on the word of its size.
		size = min(f.need, 2*have+largeChunk)
	}
	next := newChunk(size)
	if f.chunk != nil {
		copy(next.buf, f.chunk.buf[f.start:f.end])
		f.chunk.release()
	}
	f.chunk, f.start, f.end = next, 0, have
	return f.upToFrame()
}

// upToFrame gives the free part of the chunk up to where a frame would end if all were of the last one's size. Large
// frames come in rows of one size; a read that ends with one leaves no part of the next to be moved to another chunk.
func (f *frames) upToFrame() []byte {
	buf := f.chunk.buf
	if f.last > smallChunk {
		if end := f.start + (len(buf)-f.start)/f.last*f.last; end > f.end {
			return buf[f.end:end]
		}
	}
	return buf[f.end:]
}

// spare gives the chunk back while nothing of a frame has come: waiting costs no memory.
func (f *frames) spare() {
	if f.start == f.end {
		f.drop()
	}
}

// adapt follows the peer: reads that fill a small chunk, and frames larger than one, ask for a large one, small reads for
// a small one.
func (f *frames) adapt(n int) {
	if f.end == len(f.chunk.buf) || f.need > smallChunk {
		f.want = largeChunk
	} else if n < smallChunk/4 {
		f.want = smallChunk
	}
}

// drop gives up the reader's own reference; requests in the chunk keep theirs.
func (f *frames) drop() {
	if f.chunk != nil {
		f.chunk.release()
	}
	f.chunk, f.start, f.end = nil, 0, 0
}
