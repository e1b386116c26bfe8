//go:build unix

package node

import (
	"fmt"
	"syscall"
)

// Pause hangs the process (SIGSTOP): its sockets stay open, and nothing on them is answered. It returns when all threads
// have stopped: the signal is one thread's, which stops the others when it is run next, and on a busy machine they take
// and answer requests until then.
func (n *Node) Pause() {
	n.t.Helper()
	n.Signal(syscall.SIGSTOP)
	Eventually(n.t, fmt.Sprintf("node %d has stopped", n.ID), func() bool {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(n.PID(), &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		if err != nil || pid == n.PID() && !status.Stopped() {
			n.t.Fatalf("node %d is to be paused and has ended (%v):\n%s", n.ID, err, n.output.text(4<<10))
		}
		return pid == n.PID()
	})
}

// Resume lets a process go on that was paused, which knows nothing of the time between.
func (n *Node) Resume() {
	n.t.Helper()
	n.Signal(syscall.SIGCONT)
}
