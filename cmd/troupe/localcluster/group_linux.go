package localcluster

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from the nodes, which are stopped one by one, and stops them when this process
// is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
