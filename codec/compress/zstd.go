package compress

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A zstd frame names the window that its decoder must remember, and a decoder of streams sets it aside before it reads
// on. Java's clients name 2 MiB for every batch, and 128 MiB at level 22, however small the batch. So a block that cannot
// hold more than zstdWhole is decoded as a whole, which needs no window; others become streams. RFC 8878 asks every
// decoder for 8 MiB; wider windows, up to what zstd takes by default, are set aside one at a time and not kept.
const (
	zstdWhole       = 1 << 20
	zstdUsualWindow = 8 << 20
	zstdWideWindow  = 128 << 20
	// zstdWindow is the window of what is compressed here. Batches are rarely larger.
	zstdWindow = 1 << 20
)

// wideZstd is held from reset to the Close of a reader with a wide window.
var wideZstd sync.Mutex

var (
	errZstdFrame   = errors.New("not a zstd frame")
	errZstdContent = errors.New("the frame claims more content than it has")
)

// zstdDecoder has no goroutines, so that dropping it needs no Close.
type zstdDecoder struct {
	block bytes.Reader
	// from is what Read reads: plain, or a decoder of streams.
	from  io.Reader
	plain bytes.Reader
	// buf has the bytes of plain.
	buf    []byte
	whole  *zstd.Decoder
	stream *zstd.Decoder
	wide   bool
}

// reset decides by the header. Small frames are unpacked whole, which is fastest; of large ones only a window is held. A
// frame that claims more than its size can hold, or that is to be skipped, is refused before anything is unpacked.
func (d *zstdDecoder) reset(block []byte) error {
	var h zstd.Header
	if err := h.Decode(block); err != nil {
		return err
	}
	if h.Skippable {
		return errZstdFrame
	}
	most := zstdMost(block, h)
	if h.HasFCS && most <= zstdWhole && h.FrameContentSize > uint64(most) {
		return errZstdContent
	}
	if most > zstdWhole {
		window := h.WindowSize
		if h.SingleSegment {
			window = h.FrameContentSize
		}
		return d.open(block, window)
	}
	return d.decode(block, most)
}

// zstdMost is the most that a block of one frame can hold, going by the headers of its parts (RFC 8878, 3.1.1.2):
//
//	last part 1 bit | type 2 bits (0 raw, 1 one byte repeated, 2 compressed) | size 21 bits, little endian
//
// A compressed part holds up to 128 KiB. What follows the frame, or does not parse, counts as more than zstdWhole.
func zstdMost(block []byte, h zstd.Header) int {
	const partHeader, mostPart, checksum = 3, 128 << 10, 4
	most := 0
	for at := h.HeaderSize; at+partHeader <= len(block) && most <= zstdWhole; {
		part := int(block[at]) | int(block[at+1])<<8 | int(block[at+2])<<16
		last, kind, size := part&1 == 1, part>>1&3, part>>3
		at += partHeader
		switch kind {
		case 0:
			at, most = at+size, most+size
		case 1:
			at, most = at+1, most+size
		default:
			at, most = at+size, most+mostPart
		}
		if last && (at == len(block) || at+checksum == len(block)) {
			return most
		}
	}
	return zstdWhole + 1
}

// decode makes plain of a block that holds size bytes at the most.
func (d *zstdDecoder) decode(block []byte, size int) (err error) {
	if d.whole == nil {
		if d.whole, err = newZstdDecoder(zstdWideWindow); err != nil {
			return err
		}
	}
	if cap(d.buf) < size {
		d.buf = make([]byte, 0, size)
	}
	plain, err := d.whole.DecodeAll(block, d.buf[:0])
	d.plain.Reset(plain)
	d.from = &d.plain
	return err
}

// open makes a stream of the block.
func (d *zstdDecoder) open(block []byte, window uint64) (err error) {
	d.block.Reset(block)
	if window > zstdUsualWindow {
		stream, err := newZstdDecoder(zstdWideWindow)
		if err != nil {
			return err
		}
		wideZstd.Lock()
		d.wide, d.from = true, stream
		return stream.Reset(&d.block)
	}
	if d.stream == nil {
		if d.stream, err = newZstdDecoder(zstdUsualWindow); err != nil {
			return err
		}
	}
	d.from = d.stream
	return d.stream.Reset(&d.block)
}

func newZstdDecoder(window uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
}

func (d *zstdDecoder) Read(p []byte) (int, error) { return d.from.Read(p) }

func (d *zstdDecoder) close() (reusable bool) {
	if d.wide {
		d.wide = false
		wideZstd.Unlock()
	}
	d.from = nil
	d.block.Reset(nil)
	d.plain.Reset(nil)
	return d.stream == nil || d.stream.Reset(nil) == nil
}

// appendZstd makes one frame. The window is bounded, since every reader has to hold one as large, and there is no checksum:
// the batch has one.
func appendZstd(dst []byte, level int, src []byte) ([]byte, error) {
	effort := zstd.EncoderLevelFromZstd(level)
	w, pool, err := pooled(encoder{Zstd, int(effort)}, func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true),
			zstd.WithEncoderLevel(effort))
	})
	if err != nil {
		return dst, err
	}
	dst = w.EncodeAll(src, dst)
	pool.Put(w)
	return dst, nil
}
