package membership

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is far above what a slow machine needs, so that only a hang meets it.
const patience = 60 * time.Second

// node is one that really gossips, on loopback; controller and peers are the test.
type node struct {
	t      *testing.T
	record Record
	sys    *kit.System
	gossip *Gossip
	board  *Board
	log    *journal

	mu    sync.Mutex
	hints []model.BrokerID
	known []peer.Node
}

// journal is what was logged.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) has(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.buf.String(), text)
}

// Receive is the controller's and the peers'.
func (n *node) Receive(_ *kit.Context, m kit.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch m := m.(type) {
	case *controller.Suspected:
		n.hints = append(n.hints, m.Node)
	case *peer.Know:
		n.known = m.Nodes
	}
}

func (n *node) hinted(id model.BrokerID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.hints, id)
}

// knows gives where a node's controller is said to be.
func (n *node) knows(id model.BrokerID) Address {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.known {
		if k.ID == id {
			return k.Controller
		}
	}
	return Address{}
}

// begin starts a node that was made by newNode.
func (n *node) begin(key []byte, seeds ...*node) {
	n.t.Helper()
	at := Address{Host: "127.0.0.1"}
	if n.gossip != nil { // again, where it was
		at.Port = n.gossip.list.LocalNode().Port
	}
	n.beginAt(at, key, seeds...)
}

func (n *node) beginAt(at Address, key []byte, seeds ...*node) {
	n.t.Helper()
	c := &configs.Gossip{Address: at, Key: key}
	for _, s := range seeds {
		c.Seeds = append(c.Seeds, s.address())
	}
	log := slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n.board, n.sys = &Board{}, kit.NewSystem(kit.Options{Clock: clock.System()})
	others := n.sys.Spawn("others", kit.Props{Kind: "others", New: func() kit.Behavior { return n }})
	ref := n.sys.Spawn("membership", New(Deps{Self: n.record, Log: log, Peers: others, Links: peer.NewDirectory(), Controller: others, Board: n.board}))
	var err error
	if n.gossip, err = Open(Options{Config: c, Self: n.record, To: ref, Log: log}); err != nil {
		n.t.Fatal(err)
	}
	gossip, sys := n.gossip, n.sys
	n.t.Cleanup(func() {
		gossip.Close()
		if err := sys.Shutdown(context.Background()); err != nil {
			n.t.Error(err)
		}
	})
}

func (n *node) address() Address {
	l := n.gossip.list.LocalNode()
	return Address{Host: l.Addr.String(), Port: l.Port}
}

// newNode makes one of the cluster "ours", in its first process.
func newNode(t *testing.T, id model.BrokerID) *node {
	return &node{t: t, log: &journal{}, record: Record{
		ClusterID: "ours", NodeID: id, Incarnation: model.UUID{1}, Votes: true, Controller: Address{Host: "c", Port: uint16(9000 + id)},
	}}
}

// sees tells whether a node has exactly these others, as "2 alive 3 suspected".
func (n *node) sees(want string) bool { return n.members() == want }

func (n *node) members() string {
	var words []string
	for _, m := range n.board.Members() {
		words = append(words, fmt.Sprintf("%d %s", m.NodeID, m.State))
	}
	return strings.Join(words, " ")
}

// rests tells that no message to the actor waits.
func (n *node) rests() bool {
	ref, _ := n.sys.Find("membership")
	return ref.Depth() == 0
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for end := time.After(patience); !holds(); {
		select {
		case <-every.C:
		case <-end:
			t.Fatalf("not so after %v: %s", patience, what)
		}
	}
}

// three are nodes that know each other by one seed.
func three(t *testing.T) (a, b, c *node) {
	t.Helper()
	a, b, c = newNode(t, 1), newNode(t, 2), newNode(t, 3)
	a.begin(key)
	b.begin(key, a)
	c.begin(key, a)
	eventually(t, "all know all", func() bool {
		return a.sees("2 alive 3 alive") && b.sees("1 alive 3 alive") && c.sees("1 alive 2 alive")
	})
	return a, b, c
}

// key is one of 16 bytes, and other is another one.
var key, other = []byte("0123456789abcdef"), []byte("fedcba9876543210")

// throw sends a packet to a node, from nowhere.
func throw(t *testing.T, to *node, packet []byte) {
	t.Helper()
	conn, err := net.Dial("udp", to.address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(packet); err != nil {
		t.Fatal(err)
	}
}
