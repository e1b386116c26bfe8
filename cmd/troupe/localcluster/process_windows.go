package localcluster

import (
	"os"
	"syscall"
)

// ownGroup is nothing here: the console's Ctrl-C is the one way to stop a process in order, so all nodes get it.
func ownGroup() *syscall.SysProcAttr { return nil }

// running tells whether a process is there: finding one opens it.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return p.Release() == nil
}

// terminate leaves it to the console, which has told the node already.
func terminate(*os.Process) {}
