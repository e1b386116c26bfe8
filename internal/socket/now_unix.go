//go:build unix && !linux

package socket

import "syscall"

// ReadNow reads a socket that never makes a caller wait.
func ReadNow(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

// WriteNow is the counterpart of ReadNow.
func WriteNow(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }
