package script

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// detached keeps a process from its parent's console.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// terminate ends a process; there are no signals to choose from.
func terminate(pid int, _ string) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
