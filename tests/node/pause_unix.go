//go:build unix

package node

import "syscall"

// Pause hangs the process (SIGSTOP): its sockets stay open, and nothing on them is answered.
func (n *Node) Pause() {
	n.t.Helper()
	n.Signal(syscall.SIGSTOP)
}

// Resume lets a process go on that was paused, which knows nothing of the time between.
func (n *Node) Resume() {
	n.t.Helper()
	n.Signal(syscall.SIGCONT)
}
