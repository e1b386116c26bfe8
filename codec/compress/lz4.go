package compress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
)

// An LZ4 frame begins so (lz4_Frame_format.md, and KIP-57 for what Kafka takes of it):
//
//	magic 04 22 4d 18 | FLG | BD | [content size 8] | header checksum | blocks …
//
// FLG: bits 7-6 version 01, bit 5 blocks are independent. Kafka's reader knows neither frames of the older "legacy"
// magic nor blocks that depend on one another, so a batch of that kind must not get into a log.
const (
	lz4Magic        = 0x184d2204
	lz4LeastHeader  = 7
	lz4VersionMask  = 0xc0
	lz4Version      = 0x40
	lz4Independence = 0x20
)

var errLZ4Frame = errors.New("not an LZ4 frame of independent blocks")

// lz4Decoder buffers one block, of 4 MiB at the most.
type lz4Decoder struct {
	frames *lz4.Reader
	block  bytes.Reader
}

func newLZ4Decoder() *lz4Decoder { return &lz4Decoder{frames: lz4.NewReader(nil)} }

// reset judges the frame before the library does: it must be version 1 of the frame format, and its blocks independent,
// as Kafka's decoder demands. What the library takes beyond that no Kafka client could read back.
func (d *lz4Decoder) reset(block []byte) error {
	if len(block) < lz4LeastHeader || binary.LittleEndian.Uint32(block) != lz4Magic {
		return errLZ4Frame
	}
	if flags := block[4]; flags&lz4VersionMask != lz4Version || flags&lz4Independence == 0 {
		return errLZ4Frame
	}
	d.block.Reset(block)
	d.frames.Reset(&d.block)
	return nil
}

func (d *lz4Decoder) Read(p []byte) (int, error) {
	n, err := d.frames.Read(p)
	if n == 0 && err == nil && len(p) > 0 {
		// A block of no bytes makes the library give nothing without an end.
		return 0, io.ErrNoProgress
	}
	return n, err
}

func (d *lz4Decoder) close() (reusable bool) {
	d.block.Reset(nil)
	return true
}

// lz4Levels are the library's names of the levels 1 to 9; Kafka's 10 to 17 are as hard as the library tries.
var lz4Levels = [...]lz4.CompressionLevel{
	1: lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4, lz4.Level5, lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9,
}

func appendLZ4(dst []byte, level int, src []byte) ([]byte, error) {
	return appendStream(dst, encoder{LZ4, level}, src, func() (*lz4.Writer, error) { return newLZ4Writer(level) })
}

// newLZ4Writer writes blocks of 64 KiB, as Kafka does. Kafka's default level 9 is its fast compressor, not its ninth.
func newLZ4Writer(level int) (*lz4.Writer, error) {
	effort := lz4.Fast
	if level != DefaultLevel(LZ4) {
		effort = lz4Levels[min(level, len(lz4Levels)-1)]
	}
	w := lz4.NewWriter(nil)
	return w, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.CompressionLevelOption(effort))
}
