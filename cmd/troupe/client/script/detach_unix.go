//go:build unix

package script

import "syscall"

// detached puts a process into a session of its own, so that the terminal's signals pass it by.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminate asks a process to stop, in the way the named signal says.
func terminate(pid int, name string) error {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}
	signal, ok := signals[name]
	if !ok {
		signal = syscall.SIGTERM
	}
	return syscall.Kill(pid, signal)
}
