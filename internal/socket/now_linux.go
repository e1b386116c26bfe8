package socket

import (
	"syscall"
	"unsafe"
)

// ReadNow and WriteNow are for sockets that never make a caller wait. The scheduler is not told of them: when it is, the first
// call of a process that was idle wakes its watching thread, which then polls for a while, and that was a third of the CPU
// of a broker that gets a request now and then.
func ReadNow(fd uintptr, b []byte) (int, error) { return rawNow(syscall.SYS_READ, fd, b) }

// WriteNow is the counterpart of ReadNow.
func WriteNow(fd uintptr, b []byte) (int, error) { return rawNow(syscall.SYS_WRITE, fd, b) }

func rawNow(call, fd uintptr, b []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
