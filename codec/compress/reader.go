package compress

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrTooLarge says that a block holds more plain bytes than the caller allows.
var ErrTooLarge = errors.New("the block is larger than allowed when decompressed")

// CorruptError says that bytes are not a block of the codec.
type CorruptError struct {
	Codec Codec
	Cause error
}

// Error names the codec.
func (e *CorruptError) Error() string { return fmt.Sprintf("corrupt %v block: %v", e.Codec, e.Cause) }

// Unwrap gives the decoder's own error.
func (e *CorruptError) Unwrap() error { return e.Cause }

// decoder turns the bytes that reset hands it into plain ones. It holds buffers worth reusing.
type decoder interface {
	io.Reader
	reset(block []byte) error
	// close lets go of the block. It follows every reset, also one that failed.
	close() (reusable bool)
}

// decoders keep what the garbage collector lets them keep: after a quiet time the memory is given back.
var decoders = [...]sync.Pool{
	Gzip:   {New: func() any { return new(gzipDecoder) }},
	Snappy: {New: func() any { return new(snappyDecoder) }},
	LZ4:    {New: func() any { return newLZ4Decoder() }},
	Zstd:   {New: func() any { return new(zstdDecoder) }},
}

// Reader gives the plain bytes of one block as a stream, in buffers that do not depend on what the block claims to
// hold: a bomb costs its reader time and no memory. It is for one goroutine.
type Reader struct {
	codec Codec
	from  decoder
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Open begins to decompress block, which must not change until Close. Errors are *CorruptError. A goroutine closes one
// Reader before it opens the next: the second may otherwise wait for the first.
func Open(c Codec, block []byte) (*Reader, error) {
	if !c.Valid() || c == None {
		return nil, &CorruptError{c, errors.New("no such compression type")}
	}
	r := readers.Get().(*Reader)
	r.codec = c
	r.from = decoders[c].Get().(decoder)
	if err := r.from.reset(block); err != nil {
		r.Close()
		return nil, &CorruptError{c, err}
	}
	return r, nil
}

// Read is io.Reader's; errors other than io.EOF are *CorruptError.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		err = &CorruptError{r.codec, err}
	}
	return n, err
}

// Close gives the buffers to the next Reader. The Reader must not be used any more.
func (r *Reader) Close() {
	if r.from.close() {
		decoders[r.codec].Put(r.from)
	}
	r.from = nil
	readers.Put(r)
}

// firstGrowth is the least by which the output of Decompress grows. Beyond it the output doubles, so it is never more
// than twice the bytes that have truly come out of the block.
const firstGrowth = 4 << 10

// Decompress appends the plain bytes of block to dst. It stops with ErrTooLarge when there are more than limit of them,
// having allocated no more than about twice that. Other errors are *CorruptError.
func Decompress(dst []byte, c Codec, block []byte, limit int) ([]byte, error) {
	if c == None {
		if len(block) > limit {
			return dst, ErrTooLarge
		}
		return append(dst, block...), nil
	}
	r, err := Open(c, block)
	if err != nil {
		return dst, err
	}
	defer r.Close()
	start := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, make([]byte, max(firstGrowth, len(dst)-start))...)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-start > limit:
			return dst[:start], ErrTooLarge
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst[:start], err
		}
	}
}
