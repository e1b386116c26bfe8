package localcluster

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"troupe/internal/vfs"
)

// inTheWay lists everything that keeps the nodes from starting: a run before this one that is not over, and ports that
// others have. All are named at once.
func inTheWay(nodes []*node) []error {
	var found []error
	for _, n := range nodes {
		var busy []string
		for _, what := range []string{clientPort, controllerPort, gossipPort, adminPort} {
			if taken(n.ports[what]) || what == gossipPort && takenUDP(n.ports[what]) {
				busy = append(busy, what)
			}
		}
		// A number in a file proves nothing by itself: another process may have it by now.
		pid, alive := n.recorded()
		switch {
		case alive && n.locked(), len(busy) > 0 && alive:
			found = append(found, fmt.Errorf("node %d runs already, as process %d (%s)", n.id, pid, n.file("pid")))
		case n.locked():
			found = append(found, fmt.Errorf("node %d: another process works in %s", n.id, n.file("data")))
		case len(busy) > 0:
			for _, what := range busy {
				found = append(found, fmt.Errorf("%s of node %d: %s is in use; expected a --port above which the ports are free", what, n.id, n.ports[what]))
			}
		}
	}
	return slices.Clip(found)
}

// taken tells whether nobody else can listen on an address.
func taken(address string) bool {
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return true
	}
	return socket.Close() != nil
}

// takenUDP is the same for datagrams.
func takenUDP(address string) bool {
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return true
	}
	return socket.Close() != nil
}

// locked tells whether a broker is at work in the node's directory, at whatever ports. What is not there yet is not made.
func (n *node) locked() bool {
	file := filepath.Join(n.file("data"), ".lock")
	if !exists(file) {
		return false
	}
	lock, err := vfs.OS().Lock(file)
	if err != nil {
		return errors.Is(err, vfs.ErrLocked)
	}
	return lock.Close() != nil
}

// recorded reads the file pid. One that is stale, or cannot be read, tells of no process.
func (n *node) recorded() (pid int, alive bool) {
	text, err := os.ReadFile(n.file("pid"))
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(string(bytes.TrimSpace(text)))
	return pid, err == nil && pid > 0 && running(pid)
}
