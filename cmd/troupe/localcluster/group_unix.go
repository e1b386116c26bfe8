//go:build unix && !linux

package localcluster

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from the nodes, which are stopped one by one.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
