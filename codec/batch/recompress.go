package batch

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"troupe/codec/compress"
)

// smallPlain is what most batches hold of plain bytes at the most; max.message.bytes is 1 MiB by default.
const smallPlain = 4 << 20

// Recompression holds a batch's plain bytes whole, which may be a thousand times what the producer sent. So few batches are
// worked on at once: as many as there are processors for them, and of those with very much in them one.
var (
	recompressing      = make(chan struct{}, runtime.GOMAXPROCS(0))
	recompressingLarge sync.Mutex
)

// Recompress gives the batch with its records under another codec, and v itself when the codec is the same.
// The header stays but for length, codec and checksum. The result may be larger than what v was, and has to be checked
// against max.message.bytes. It fails with *CorruptError, compress.ErrTooLarge, or for a level that does not exist. It
// waits while others are at it.
func Recompress(v View, c compress.Codec, level int) (View, error) {
	if v.Codec() == c {
		return v, nil
	}
	if v.Codec() == compress.None {
		return recompressed(v, c, level, v.Payload())
	}
	recompressing <- struct{}{}
	defer func() { <-recompressing }()
	plain, err := compress.Decompress(nil, v.Codec(), v.Payload(), smallPlain)
	if errors.Is(err, compress.ErrTooLarge) {
		recompressingLarge.Lock()
		defer recompressingLarge.Unlock()
		plain, err = large(v)
	}
	switch {
	case errors.Is(err, compress.ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, v.corrupt(err.Error())
	}
	return recompressed(v, c, level, plain)
}

// large decompresses what is too much to be held while it grows: it is counted first.
func large(v View) ([]byte, error) {
	r, err := compress.Open(v.Codec(), v.Payload())
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(io.Discard, io.LimitReader(r, holdLimit+1))
	r.Close()
	switch {
	case err != nil:
		return nil, err
	case size > holdLimit:
		return nil, compress.ErrTooLarge
	}
	// One byte more is room to come to the end in.
	return compress.Decompress(make([]byte, 0, size+1), v.Codec(), v.Payload(), holdLimit)
}

// recompressed makes the batch of its plain bytes.
func recompressed(v View, c compress.Codec, level int, plain []byte) (View, error) {
	size := len(plain)
	if c != compress.None {
		size = min(size, 2*len(v)) // a guess: all of plain may be far too much
	}
	b, err := compress.Append(append(make([]byte, 0, HeaderSize+size), v[:HeaderSize]...), c, level, plain)
	if err != nil {
		return nil, err
	}
	return seal(b, v.Attributes()&^attrCodec|int16(c)), nil
}
