package broker

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/internal/vfs"
)

// heldBack tells what connections still hold of the broker.
func heldBack(n *node) (connections map[string]int, credits int64, descriptors int) {
	connections, _ = n.connections.Count()
	descriptors, _ = n.descriptors.Used(vfs.ShareConnections)
	return connections, n.connections.Credits.Used(), descriptors
}

// Each of a thousand clients leaves at another point: before a byte, within a size, within a frame, with requests
// unanswered, with a long poll waiting, after an answer.
func TestAThousandConnectionsLeaveNothingBehind(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	formatter := kmsg.NewRequestFormatter()
	ask := formatter.AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)
	write := formatter.AppendRequest(nil, produceRequest("a", -1, records(nil, time.Now(), "x")), 2)
	poll := formatter.AppendRequest(nil, fetchRequest("a", 1<<40, 0), 3)
	wait := formatter.AppendRequest(nil, fetchRequest("a", 1_000_000, time.Hour), 4)
	session := fetchRequest("a", 0, time.Hour)
	session.SessionEpoch, session.MinBytes = 0, 1<<30
	held := formatter.AppendRequest(nil, session, 5)
	leavings := [][]byte{nil, ask[:2], ask[:len(ask)-1], write, poll, wait, held, append(append([]byte{}, write...), held...), {0xff, 0xff, 0xff, 0xff}}
	const clients, atOnce = 1000, 50
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range clients {
		slots <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-slots }()
			conn, err := net.Dial("tcp", n.address())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			c := &client{conn: conn}
			if i%2 == 0 {
				if _, err := c.call(kmsg.NewPtrApiVersionsRequest()); err != nil {
					t.Error(err)
				}
			}
			// The broker may have closed already what it does not understand.
			_, _ = conn.Write(leavings[i%len(leavings)])
		}()
	}
	all.Wait()
	eventually(t, "nothing is held for clients that left", func() bool {
		connections, credits, descriptors := heldBack(n)
		return len(connections) == 0 && credits == 0 && descriptors == 0
	})
}
