package node

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// The ports of nodes that must know each other's before they start. They are below those that systems give to outgoing
// connections, so that no connection holds the port of a node that is down and comes back.
const firstPort, portsEnd = 15_000, 30_000

// drawn are the ports that this process has given to somebody who may not listen yet.
var drawn sync.Map

// FreePorts gives ports of 127.0.0.1 that nobody listens on. They are drawn by chance: other test processes draw too.
func FreePorts(t testing.TB, n int) []string {
	t.Helper()
	var found []string
	for range 100 * n {
		port := strconv.Itoa(firstPort + rand.IntN(portsEnd-firstPort))
		socket, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		socket.Close()
		if _, taken := drawn.LoadOrStore(port, true); taken {
			continue
		}
		if found = append(found, port); len(found) == n {
			return found
		}
	}
	t.Fatalf("%d ports were asked for, and %d are free", n, len(found))
	return nil
}
