//go:build unix

package localcluster

import (
	"errors"
	"os"
	"syscall"
)

// running tells whether a process is there, whoever's it is.
func running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// terminate asks a process to stop in order.
func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // it may be gone, which is what is wanted
