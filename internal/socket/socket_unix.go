//go:build unix

// Package socket reads and writes sockets by system calls that the runtime's scheduler is not told of, on the descriptors that
// the runtime polls, and says in few words what is wrong with one.
package socket

import (
	"io"
	"net"
	"syscall"
)

// Writer writes what a socket takes at once.
type Writer struct {
	raw syscall.RawConn
	// try is tryWrite: the runtime takes a function, which costs nothing a call when it is made once. The rest is what it is
	// to do and has done.
	try  func(fd uintptr) bool
	from []byte
	n    int
	err  error
}

// NewWriter gives nil for what is no socket of the system's.
func NewWriter(c net.Conn) *Writer {
	raw := rawOf(c)
	if raw == nil {
		return nil
	}
	w := &Writer{raw: raw}
	w.try = w.tryWrite
	return w
}

// rawOf is nil for what is no socket of the system's, such as an encrypted connection.
func rawOf(c net.Conn) syscall.RawConn {
	tcp, is := c.(*net.TCPConn)
	if !is {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// Write gives how many bytes were taken, which may be none; it never waits.
func (w *Writer) Write(b []byte) (int, error) {
	w.from = b
	err := w.raw.Write(w.try)
	w.from = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}

// tryWrite never asks the runtime to wait.
func (w *Writer) tryWrite(fd uintptr) bool {
	for {
		if w.n, w.err = WriteNow(fd, w.from); w.err != syscall.EINTR {
			break
		}
	}
	if w.err == syscall.EAGAIN {
		w.err = nil
	}
	w.n = max(w.n, 0)
	return true
}

// reader waits for bytes as the connection's own Read does.
type reader struct {
	raw  syscall.RawConn
	try  func(fd uintptr) bool // tryRead, as Writer.try
	into []byte
	n    int
	err  error
}

// NewReader gives the connection itself where it is no socket of the system's.
func NewReader(c net.Conn) io.Reader {
	raw := rawOf(c)
	if raw == nil {
		return c
	}
	r := &reader{raw: raw}
	r.try = r.tryRead
	return r
}

// Read is part of io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	r.into = b
	err := r.raw.Read(r.try)
	r.into = nil
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, r.err
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// tryRead is called by the runtime at once, and again whenever the socket has become readable.
func (r *reader) tryRead(fd uintptr) bool {
	for {
		if r.n, r.err = ReadNow(fd, r.into); r.err != syscall.EINTR {
			break
		}
	}
	return r.err != syscall.EAGAIN
}
