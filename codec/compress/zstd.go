package compress

import (
	"bytes"
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A zstd frame names the window that its decoder must remember, and the decoder sets it aside before it reads on.
// RFC 8878 asks every decoder for 8 MiB, which covers the levels up to 19; the levels to 22 name up to 128 MiB, the
// most that zstd takes by default. Frames of that kind are decoded one at a time, and their buffers are not kept.
const (
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
	usual *zstd.Decoder
	wide  *zstd.Decoder
}

func (d *zstdDecoder) reset(block *bytes.Reader) error {
	var head [zstd.HeaderMaxSize]byte
	n, _ := block.ReadAt(head[:], 0) // the end of a short block is no fault: the header tells whether it is whole
	var h zstd.Header
	if err := h.Decode(head[:n]); err != nil {
		return err
	}
	if h.Skippable {
		return errZstdFrame
	}
	if h.WindowSize > zstdUsualWindow || h.SingleSegment && h.FrameContentSize > zstdUsualWindow {
		return d.resetWide(block)
	}
	if d.usual == nil {
		var err error
		if d.usual, err = newZstdDecoder(zstdUsualWindow); err != nil {
			return err
		}
	}
	return d.usual.Reset(block)
}

func (d *zstdDecoder) resetWide(block *bytes.Reader) error {
	wide, err := newZstdDecoder(zstdWideWindow)
	if err != nil {
		return err
	}
	wideZstd.Lock()
	d.wide = wide
	return wide.Reset(block)
}

func newZstdDecoder(window uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window), zstd.WithDecoderMaxMemory(window+1<<20))
}

func (d *zstdDecoder) Read(p []byte) (int, error) {
	if d.wide != nil {
		return d.wide.Read(p)
	}
	return d.usual.Read(p)
}

func (d *zstdDecoder) reusable() bool {
	if d.wide != nil {
		d.wide = nil
		wideZstd.Unlock()
	}
	return d.usual != nil && d.usual.Reset(nil) == nil
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
