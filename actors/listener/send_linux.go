package listener

import (
	"io"
	"net"
	"syscall"

	"troupe/partitionlog"
)

// sendStep is how much one sendfile asks for. Larger ones were measured to cost more CPU a byte, since the peer reads what has
// left the processor's cache, and steps of half of it twice as much (docs/adr/0014).
const sendStep = 128 << 10

// sendFile uses an explicit offset: the descriptor is shared with other readers.
func sendFile(c *net.TCPConn, fd uintptr, r *partitionlog.Region) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	pos, left := r.Pos, r.Len
	for left > 0 {
		var n int
		var sendErr error
		waitErr := raw.Write(func(out uintptr) bool {
			off := pos
			n, sendErr = syscall.Sendfile(int(out), int(fd), &off, int(min(left, sendStep)))
			return sendErr != syscall.EAGAIN
		})
		switch {
		case waitErr != nil:
			return waitErr
		case sendErr == syscall.EINTR:
			continue
		case sendErr != nil:
			return sendErr
		case n == 0: // the file is shorter than its region
			return io.ErrUnexpectedEOF
		}
		pos += int64(n)
		left -= int64(n)
	}
	return nil
}
