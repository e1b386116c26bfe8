package peer_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/actors/trace"
	"troupe/codec/frame"
	"troupe/codec/private"
	"troupe/internal/clock"
	"troupe/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is node 1 with the links that it makes, step by step: the network is the test.
type world struct {
	t     *testing.T
	clock *clock.Manual
	order *kit.Deterministic
	sys   *kit.System
	dir   *peer.Directory
	peers kit.Ref
	dials []*conn
	heard []string // by the watcher
	ended []string // calls, in the order in which they ended
	log   bytes.Buffer
	trace *trace.Tracer
}

// conn is the other end of a connection that the node dialed.
type conn struct {
	w      *world
	to     peer.Address
	events peer.Events
	frames [][]byte
	closed bool
}

func (c *conn) Write(b []byte) { c.frames = append(c.frames, b) }
func (c *conn) Close()         { c.closed = true }

func (w *world) Dial(to peer.Address, e peer.Events) peer.Conn {
	c := &conn{w: w, to: to, events: e}
	w.dials = append(w.dials, c)
	return c
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, clock: clock.NewManual(time.Unix(1000, 0)), order: kit.NewDeterministic(seed), dir: peer.NewDirectory()}
	w.trace = trace.New(trace.Options{Clock: w.clock, Broker: 1, Seed: seed})
	w.sys = kit.NewSystem(kit.Options{Clock: w.clock, Dispatcher: w.order, Trace: w.trace})
	w.peers = w.sys.Spawn("peers", peer.New(peer.Deps{
		Directory: w.dir, Transport: w, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Self: func() private.Identity { return identity(1) },
	}))
	watcher := w.sys.Spawn("watcher", kit.Props{Kind: "watcher", New: func() kit.Behavior { return w }})
	w.peers.Send(&peer.Watch{Watcher: watcher})
	w.settle()
	return w
}

// identity is a node of the cluster.
func identity(id model.BrokerID) private.Identity {
	return private.Identity{
		ClusterID: "ours", NodeID: id, Directory: model.UUID{byte(id)}, Incarnation: model.UUID{0xf, byte(id)}, MinVersion: 1, MaxVersion: 1,
	}
}

// Receive is the watcher's.
func (w *world) Receive(_ *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *peer.Up:
		w.heard = append(w.heard, fmt.Sprintf("%d %s up, directory %d", m.ID, m.Link, m.Node.Directory[0]))
	case *peer.Down:
		w.heard = append(w.heard, fmt.Sprintf("%d %s down, refused %v", m.ID, m.Link, m.Refused))
	}
}

func (w *world) settle() {
	w.t.Helper()
	const limit = 1_000_000
	if w.order.Run(limit) == limit {
		w.t.Fatal("the actors do not come to rest")
	}
}

func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.clock.Advance(d)
	w.settle()
}

// address is where a link of a node leads: the port is 9000 and the id, a controller's a thousand above.
func address(id model.BrokerID, l peer.Link) peer.Address {
	port := 9000 + uint16(id)
	if l == peer.Controller {
		port += 1000
	}
	return peer.Address{Host: "localhost", Port: port}
}

// know tells of nodes with a listener between brokers alone, so that each has one link.
func (w *world) know(source string, ids ...model.BrokerID) {
	w.t.Helper()
	var nodes []peer.Node
	for _, id := range ids {
		nodes = append(nodes, peer.Node{ID: id, Broker: address(id, peer.Broker)})
	}
	w.peers.Send(&peer.Know{Source: source, Nodes: nodes})
	w.settle()
}

// last is the newest connection.
func (w *world) last() *conn {
	w.t.Helper()
	if len(w.dials) == 0 {
		w.t.Fatal("nobody was dialed")
	}
	return w.dials[len(w.dials)-1]
}

// dialed is the newest connection to a node's listener for brokers.
func (w *world) dialed(id model.BrokerID) *conn {
	w.t.Helper()
	for i := len(w.dials) - 1; i >= 0; i-- {
		if w.dials[i].to == address(id, peer.Broker) {
			return w.dials[i]
		}
	}
	w.t.Fatalf("node %d was not dialed", id)
	return nil
}

func (c *conn) open() {
	c.events.Opened()
	c.w.settle()
}

func (c *conn) end(err error) {
	c.events.Closed(err)
	c.w.settle()
}

func (c *conn) receive(b []byte) {
	c.events.Received(nil, b)
	c.w.settle()
}

// stand opens a connection and shakes hands as the node with that id.
func (c *conn) stand(id model.BrokerID) {
	c.w.t.Helper()
	c.open()
	c.answer(0, &private.HelloResponse{Node: identity(id)})
}

// request reads the n-th frame that was written.
func (c *conn) request(n int) (frame.RequestHeader, kmsg.Request) {
	c.w.t.Helper()
	if n >= len(c.frames) {
		c.w.t.Fatalf("%d frames were written, the one of number %d is wanted", len(c.frames), n)
	}
	b := c.frames[n]
	size, err := frame.Size(b, 1<<20)
	if err != nil || size != len(b)-frame.SizeLen {
		c.w.t.Fatalf("a frame of %d bytes says %d, %v", len(b), size, err)
	}
	h, body, err := frame.ParseRequestHeader(b[frame.SizeLen:])
	if err != nil {
		c.w.t.Fatal(err)
	}
	req := private.NewRequest(h.Key)
	if req == nil {
		req = kmsg.RequestForKey(h.Key)
	}
	req.SetVersion(h.Version)
	if err := req.ReadFrom(body); err != nil {
		c.w.t.Fatal(err)
	}
	return h, req
}

// answer replies to the n-th frame that was written.
func (c *conn) answer(n int, resp kmsg.Response) {
	c.w.t.Helper()
	h, _ := c.request(n)
	resp.SetVersion(h.Version)
	c.receive(resp.AppendTo(frame.AppendResponseHeader(nil, h.Key, h.Version, h.CorrelationID, nil)))
}

// call makes a call to a node, with a heartbeat whose epoch tells it from others.
func (w *world) call(id model.BrokerID, name int64, o ...func(*peer.Call)) {
	w.t.Helper()
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version, req.BrokerEpoch = 1, name
	c := &peer.Call{Link: peer.Broker, Body: req, Done: func(resp kmsg.Response, err error) {
		text := fmt.Sprint(err)
		if err == nil {
			text = fmt.Sprint(resp.(*kmsg.BrokerHeartbeatResponse).ErrorCode)
		}
		w.ended = append(w.ended, fmt.Sprintf("%d: %s", name, text))
	}}
	for _, set := range o {
		set(c)
	}
	w.dir.Send(id, c)
	w.settle()
}

// heartbeat is a reply that is told by its code.
func heartbeat(code int16) *kmsg.BrokerHeartbeatResponse {
	resp := kmsg.NewPtrBrokerHeartbeatResponse()
	resp.ErrorCode = code
	return resp
}

// want compares what happened since the last look.
func (w *world) want(what string, got *[]string, want ...string) {
	w.t.Helper()
	if fmt.Sprint(*got) != fmt.Sprint(want) {
		w.t.Fatalf("%s: %q, want %q", what, *got, want)
	}
	*got = nil
}
