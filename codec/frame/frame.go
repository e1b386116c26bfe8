// Package frame has what stands round every message of Kafka's protocol: the size in front, and the headers.
//
//	request:  size int32 | api key int16 | version int16 | correlation id int32 | client id | [tagged fields] | body
//	response: size int32 | correlation id int32 | [tagged fields] | body
//
// Sizes do not count themselves. Tagged fields are there when the API's version is flexible (KIP-482).
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// SizeLen is the bytes of the size in front of a frame.
const SizeLen = 4

// ErrSize says that the bytes before a frame are no size that is allowed: whoever sends them does not speak Kafka's
// protocol, or asks for more than socket.request.max.bytes. The connection is to be closed.
var ErrSize = errors.New("the size of the frame is not allowed")

// Size reads the size of the frame that follows the first SizeLen bytes of b.
func Size(b []byte, limit int) (int, error) {
	n := int32(binary.BigEndian.Uint32(b))
	if n <= 0 || int(n) > limit {
		return 0, fmt.Errorf("%w: %d, want 1 to %d", ErrSize, n, limit)
	}
	return int(n), nil
}

// firstRead is what ReadBody sets aside on the word of a size alone.
const firstRead = 64 << 10

// ReadBody fills buf with the n bytes of a frame and returns it, grown where its capacity was too small. Growth follows
// the bytes that arrive, so a sender that claims much and sends little costs little.
func ReadBody(r io.Reader, buf []byte, n int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, max(firstRead, 2*cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		got, err := io.ReadFull(r, buf[len(buf):min(n, cap(buf))])
		buf = buf[:len(buf)+got]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // within a frame, also between two reads of it
		}
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// Begin leaves room for the size of a frame that is appended to dst.
func Begin(dst []byte) []byte { return append(dst, 0, 0, 0, 0) }

// End writes the size of the frame that Begin opened at the given position of b; extra counts the bytes of the frame
// that are sent from elsewhere.
func End(b []byte, begin, extra int) {
	binary.BigEndian.PutUint32(b[begin:], uint32(len(b)-begin-SizeLen+extra))
}
