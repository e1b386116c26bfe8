package compress

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/snappy"
)

// Snappy stands in batches in two framings. Java's and most other clients write that of snappy-java ("xerial"):
//
//	82 53 4e 41 50 50 59 00 | version int32 (1) | compatible version int32 (1) | chunks: length int32, snappy block
//
// Some write a bare snappy block; Kafka takes that for what does not begin with the magic, and so does this.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = len(xerialMagic) + 8
	// xerialChunk is the plain bytes of a chunk that Java writes.
	xerialChunk = 32 << 10
	// snappyMostRatio bounds what a block can hold: its densest element is a copy of 64 bytes in 3.
	snappyMostRatio = 22
	// snappyKeep is the largest buffer that is kept for the next block.
	snappyKeep = 1 << 20
)

var errSnappy = errors.New("lengths do not fit the block")

// snappyDecoder decodes one chunk at a time.
type snappyDecoder struct {
	// block is what is not decoded yet.
	block  []byte
	xerial bool
	plain  []byte
	unread []byte
}

// reset tells the two forms apart: the Java library frames its chunks (xerial), others write one bare block.
func (d *snappyDecoder) reset(block []byte) error {
	if len(block) == 0 {
		return errSnappy
	}
	d.xerial = len(block) >= xerialHeader && string(block[:len(xerialMagic)]) == xerialMagic
	if d.xerial {
		block = block[xerialHeader:]
	}
	d.block = block
	return nil
}

func (d *snappyDecoder) Read(p []byte) (int, error) {
	for len(d.unread) == 0 {
		if len(d.block) == 0 {
			return 0, io.EOF
		}
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.unread)
	d.unread = d.unread[n:]
	return n, nil
}

// next decodes a chunk. The length that the chunk says it unpacks to is held to what its size can give, before memory is
// taken for it: a few bytes may claim 4 GiB.
func (d *snappyDecoder) next() error {
	chunk := d.block
	if d.xerial {
		if len(chunk) < 4 {
			return errSnappy
		}
		size := binary.BigEndian.Uint32(chunk)
		if chunk = chunk[4:]; int64(size) > int64(len(chunk)) {
			return errSnappy
		}
		chunk, d.block = chunk[:size], chunk[size:]
	} else {
		d.block = nil
	}
	size, err := snappy.DecodedLen(chunk)
	if err != nil {
		return err
	}
	if size > snappyMostRatio*len(chunk) {
		return errSnappy
	}
	if cap(d.plain) < size {
		d.plain = make([]byte, size)
	}
	// Strict, because the library's faster decoder takes elements that only its own encoder of S2 writes.
	d.unread, err = snappy.DecodeStrict(d.plain[:cap(d.plain)], chunk)
	return err
}

func (d *snappyDecoder) close() (reusable bool) {
	d.block, d.unread = nil, nil
	return cap(d.plain) <= snappyKeep
}

// appendSnappy writes the xerial form, which every client reads: magic, version 1, compatible with 1, then chunks of 32 KiB
// with their lengths before them.
func appendSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = append(dst, 0, 0, 0, 1, 0, 0, 0, 1)
	for len(src) > 0 {
		n := min(len(src), xerialChunk)
		at := len(dst)
		dst = append(dst, make([]byte, 4+snappy.MaxEncodedLen(n))...)
		chunk := snappy.Encode(dst[at+4:], src[:n])
		binary.BigEndian.PutUint32(dst[at:], uint32(len(chunk)))
		dst, src = dst[:at+4+len(chunk)], src[n:]
	}
	return dst
}
