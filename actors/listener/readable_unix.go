//go:build unix

package listener

import (
	"io"
	"net"
	"syscall"
)

// readable waits for bytes without holding a buffer: those of ten thousand idle connections would be gigabytes.
type readable struct {
	raw syscall.RawConn
}

// newSource reads by system calls of its own, on the descriptor that the runtime polls.
func newSource(c net.Conn) (source, error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	return &readable{raw}, nil
}

// ReadInto takes a buffer only when the socket has bytes, and gives it back when it turns out to have none.
func (r *readable) ReadInto(b buffers) (int, error) {
	var n int
	var err error
	// The runtime calls this at once, and again whenever the socket has become readable.
	waitErr := r.raw.Read(func(fd uintptr) bool {
		for {
			if n, err = syscall.Read(int(fd), b.room()); err != syscall.EINTR {
				break
			}
		}
		if err == syscall.EAGAIN {
			b.spare()
			return false
		}
		return true
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
