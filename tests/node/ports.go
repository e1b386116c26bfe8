package node

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// The ports of nodes that must know each other's before they start, or come back on theirs. They are below those that
// systems give to outgoing connections, so that no connection holds the port of a node that is down.
//
// Test processes run side by side, so each takes whole blocks: it listens on a block's first port for as long as it lives,
// and the others of the block are its own.
const firstPort, blockSize, blocks = 15_000, 50, 300

// owned are the ports of this process that nobody uses; those that came back last are drawn last.
var owned struct {
	sync.Mutex
	free []int
	held []net.Listener // the first ports of the blocks
}

// FreePorts gives ports of 127.0.0.1 that are the test's until it ends.
func FreePorts(t testing.TB, n int) []string {
	t.Helper()
	owned.Lock()
	defer owned.Unlock()
	var found []string
	var taken []int
	for len(found) < n {
		if len(owned.free) == 0 {
			takeBlock(t)
		}
		port := owned.free[0]
		owned.free = owned.free[1:]
		socket, err := listen(port)
		if err != nil {
			continue // it is some other program's
		}
		socket.Close()
		taken, found = append(taken, port), append(found, strconv.Itoa(port))
	}
	t.Cleanup(func() {
		owned.Lock()
		defer owned.Unlock()
		owned.free = append(owned.free, taken...)
	})
	return found
}

// takeBlock adds a block that no other process has. The first one is drawn by chance, for another's would else be tried
// again and again.
func takeBlock(t testing.TB) {
	t.Helper()
	from := rand.IntN(blocks)
	for i := range blocks {
		first := firstPort + (from+i)%blocks*blockSize
		if socket, err := listen(first); err == nil {
			owned.held = append(owned.held, socket)
			for port := first + 1; port < first+blockSize; port++ {
				owned.free = append(owned.free, port)
			}
			return
		}
	}
	t.Fatal("other test processes have all ports")
}

// localSlots are what `troupe cluster` of three nodes is given as its --port: behind the blocks, four apart. The ports that it
// derives (localAbove) are no other slot's.
const localFirst, localSlots, localWidth = firstPort + blocks*blockSize, 25, 4

// localAbove is how far above the ports for clients those of the quorum, of gossip and of administration are.
var localAbove = []int{0, 100, 200, 552}

// LocalClusterPort gives a --port for a `troupe cluster` of three nodes. It is the test's until it ends.
func LocalClusterPort(t testing.TB) int {
	t.Helper()
	from := rand.IntN(localSlots)
	for i := range localSlots {
		port := localFirst + (from+i)%localSlots*localWidth
		socket, err := listen(port + localWidth - 1)
		if err != nil {
			continue // it is another test process's
		}
		if localFree(port) {
			t.Cleanup(func() { socket.Close() })
			return port
		}
		socket.Close()
	}
	t.Fatal("others have all ports of local clusters")
	return 0
}

// localFree tells whether no other program has a port of those that belong to a --port.
func localFree(port int) bool {
	for _, above := range localAbove {
		for node := range localWidth - 1 {
			socket, err := listen(port + above + node)
			if err != nil {
				return false
			}
			socket.Close()
		}
	}
	return true
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
