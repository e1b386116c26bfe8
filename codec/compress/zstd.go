package compress

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A zstd frame names the window that its decoder must remember, and a decoder of streams sets it aside before it reads
// on. Java's clients name 2 MiB for every batch, and 128 MiB at level 22, however small the batch. So a block is first
// tried as a whole, which needs no window; only what does not fit into zstdWhole becomes a stream. RFC 8878 asks every
// decoder for 8 MiB; wider windows, up to what zstd takes by default, are set aside one at a time and not kept.
const (
	zstdWhole       = 1 << 20
	zstdLeastPlain  = 64 << 10
	zstdUsualWindow = 8 << 20
	zstdWideWindow  = 128 << 20
	// zstdWindow is the window of what is compressed here. Batches are rarely larger.
	zstdWindow = 1 << 20
)

// wideZstd is held from reset to the Close of a reader with a wide window.
var wideZstd sync.Mutex

var errZstdFrame = errors.New("not a zstd frame")

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

func (d *zstdDecoder) reset(block []byte) error {
	var h zstd.Header
	if err := h.Decode(block); err != nil {
		return err
	}
	if h.Skippable {
		return errZstdFrame
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	if h.HasFCS && h.FrameContentSize > zstdWhole {
		return d.open(block, window)
	}
	err := d.decode(block, max(zstdLeastPlain, int(h.FrameContentSize)))
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return d.open(block, window)
	}
	return err
}

// decode makes plain of the block, in a buffer that grows from size as far as zstdWhole. It begins anew when the buffer
// is too small, since the decoder cannot stop in between; most blocks fit at once.
func (d *zstdDecoder) decode(block []byte, size int) (err error) {
	if d.whole == nil {
		if d.whole, err = newZstdDecoder(zstdWideWindow, zstd.WithDecodeAllCapLimit(true)); err != nil {
			return err
		}
	}
	for {
		if cap(d.buf) < size {
			d.buf = make([]byte, 0, size)
		}
		plain, err := d.whole.DecodeAll(block, d.buf[:0:cap(d.buf)])
		switch {
		case err == nil:
			d.plain.Reset(plain)
			d.from = &d.plain
			return nil
		case !errors.Is(err, zstd.ErrDecoderSizeExceeded) || cap(d.buf) >= zstdWhole:
			return err
		}
		size = min(4*cap(d.buf), zstdWhole)
	}
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

func newZstdDecoder(window uint64, more ...zstd.DOption) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, append(more, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))...)
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

func appendZstd(dst []byte, level int, src []byte) ([]byte, error) {
	effort := zstd.EncoderLevelFromZstd(level)
	w, pool, err := pooled(Zstd, int(effort), func() (*zstd.Encoder, error) {
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
