//go:build unix

package listener

import (
	"net"
	"syscall"
)

// nowWriter writes what a socket takes at once.
type nowWriter struct {
	raw  syscall.RawConn
	try  func(fd uintptr) bool
	from []byte
	n    int
	err  error
}

// newNowWriter gives nil for what is no socket of the system's.
func newNowWriter(c net.Conn) *nowWriter {
	tcp, is := c.(*net.TCPConn)
	if !is {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	w := &nowWriter{raw: raw}
	w.try = w.tryWrite
	return w
}

// write gives how many bytes were taken, which may be none.
func (w *nowWriter) write(b []byte) (int, error) {
	w.from = b
	err := w.raw.Write(w.try)
	w.from = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}

// tryWrite never asks the runtime to wait.
func (w *nowWriter) tryWrite(fd uintptr) bool {
	for {
		if w.n, w.err = writeNow(fd, w.from); w.err != syscall.EINTR {
			break
		}
	}
	if w.err == syscall.EAGAIN {
		w.err = nil
	}
	w.n = max(w.n, 0)
	return true
}
