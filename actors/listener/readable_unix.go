//go:build unix

package listener

import (
	"io"
	"net"
	"syscall"

	"troupe/internal/socket"
)

// readable waits for bytes without holding a buffer: those of ten thousand idle connections would be gigabytes.
type readable struct {
	raw syscall.RawConn
	// try is tryRead: the runtime takes a function, which costs nothing a call when it is made once. The rest is what it is to
	// do and has done.
	try  func(fd uintptr) bool
	into buffers
	n    int
	err  error
}

// newSource reads by system calls of its own, on the descriptor that the runtime polls.
func newSource(c net.Conn) (source, error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	r := &readable{raw: raw}
	r.try = r.tryRead
	return r, nil
}

// ReadInto takes a buffer only when the socket has bytes, and gives it back when it turns out to have none.
func (r *readable) ReadInto(b buffers) (int, error) {
	r.into = b
	err := r.raw.Read(r.try)
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
func (r *readable) tryRead(fd uintptr) bool {
	for {
		if r.n, r.err = socket.ReadNow(fd, r.into.room()); r.err != syscall.EINTR {
			break
		}
	}
	if r.err == syscall.EAGAIN {
		r.into.spare()
		return false
	}
	return true
}
