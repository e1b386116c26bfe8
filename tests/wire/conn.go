// Package wire speaks the Kafka protocol a frame at a time, right or wrong, for tests of what a broker does with
// it. It encodes with franz-go's kmsg and shares no code with the broker.
package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience bounds the wait for a reply: only a hang meets it.
const patience = time.Minute

// apiVersions is the one API whose replies have no tagged fields in the header (KIP-511).
const apiVersions = 18

// Conn is one connection of a test.
type Conn struct {
	t           testing.TB
	socket      net.Conn
	correlation int32
}

// Dial connects; the connection goes with the test.
func Dial(t testing.TB, address string) *Conn {
	t.Helper()
	socket, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { socket.Close() })
	return &Conn{t: t, socket: socket}
}

// Frame encodes a request with its size, header and client id "wire".
func Frame(correlation int32, req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("wire")).AppendRequest(nil, req, correlation)
}

// Write sends bytes as they are.
func (c *Conn) Write(b []byte) {
	c.t.Helper()
	if err := c.TryWrite(b); err != nil {
		c.t.Fatalf("write %d bytes: %v", len(b), err)
	}
}

// TryWrite sends bytes that the broker may refuse to read to the end.
func (c *Conn) TryWrite(b []byte) error {
	if err := c.socket.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := c.socket.Write(b)
	return err
}

// Send writes a request and returns the correlation id that its reply will carry.
func (c *Conn) Send(req kmsg.Request) int32 {
	c.t.Helper()
	c.correlation++
	c.Write(Frame(c.correlation, req))
	return c.correlation
}

// Read awaits one reply frame: its correlation id and what follows it.
func (c *Conn) Read() (correlation int32, rest []byte) {
	c.t.Helper()
	correlation, rest, err := c.tryRead()
	if err != nil {
		c.t.Fatalf("await a reply: %v", err)
	}
	return correlation, rest
}

func (c *Conn) tryRead() (int32, []byte, error) {
	if err := c.socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.socket, size[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > 1<<30 {
		return 0, nil, fmt.Errorf("a reply of %d bytes", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(c.socket, frame); err != nil {
		return 0, nil, err
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[4:], nil
}

// Receive awaits the reply to req, which must be the next one.
func (c *Conn) Receive(correlation int32, req kmsg.Request) kmsg.Response {
	c.t.Helper()
	got, body := c.Read()
	if got != correlation {
		c.t.Fatalf("%s: the reply carries correlation id %d, want %d", kmsg.NameForKey(req.Key()), got, correlation)
	}
	resp, err := Decode(req, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// Decode reads the part of a reply frame that follows the correlation id.
func Decode(req kmsg.Request, body []byte) (kmsg.Response, error) {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && req.Key() != apiVersions {
		if len(body) == 0 || body[0] != 0 {
			return nil, fmt.Errorf("%s v%d: the reply header has no empty list of tagged fields", kmsg.NameForKey(req.Key()), req.GetVersion())
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s v%d: unreadable reply: %w", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	// kmsg ignores what it does not understand, such as bytes after the end: what it writes must be all that came.
	if back := resp.AppendTo(nil); !bytes.Equal(back, body) {
		return nil, fmt.Errorf("%s v%d: the reply of %d bytes makes sense as %d other ones", kmsg.NameForKey(req.Key()), req.GetVersion(), len(body), len(back))
	}
	return resp, nil
}

// Call sends a request and awaits its reply.
func (c *Conn) Call(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	return c.Receive(c.Send(req), req)
}

// ExpectClosed checks that the broker closes the connection without another word.
func (c *Conn) ExpectClosed() {
	c.t.Helper()
	_, _, err := c.tryRead()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
	case err == nil:
		c.t.Error("the broker answered, want the connection closed")
	default:
		c.t.Errorf("want the connection closed, got %v", err)
	}
}

// CloseWrite ends the sending half.
func (c *Conn) CloseWrite() {
	c.t.Helper()
	if err := c.socket.(*net.TCPConn).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}
