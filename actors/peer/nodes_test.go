package peer_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/actors/listener"
	"troupe/actors/peer"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// text is a log that several goroutines write.
type text struct {
	mu sync.Mutex
	strings.Builder
}

func (l *text) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(b)
}

func (l *text) contains(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.String(), part)
}

// server is a node whose controller listener is open; its controller does what the test says.
type server struct {
	t      *testing.T
	self   private.Identity
	log    text
	deps   *listener.Deps
	socket net.Listener
	system *kit.System
	tracer *trace.Tracer
	// parked are requests of the controller that wait for the test.
	parked chan *controller.Request
	raft   chan *controller.Raft
	ended  sync.Once
}

type images struct{ image *image.Image }

func (i images) Image() *image.Image { return i.image }

func (s *server) Receive(_ *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *controller.Request:
		s.parked <- m
	case *controller.Raft:
		s.raft <- m
	}
}

// newServer opens a node; nodes tells whether other nodes may come in.
func newServer(t *testing.T, self private.Identity, nodes bool) *server {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, self: self, socket: socket, parked: make(chan *controller.Request, 100), raft: make(chan *controller.Raft, 100)}
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	s.tracer = trace.New(trace.Options{Clock: clock.System(), Broker: self.NodeID, Seed: uint64(self.NodeID)})
	s.system = kit.NewSystem(kit.Options{Log: log, Trace: s.tracer})
	node := &api.Node{
		ID: self.NodeID, Self: func() private.Identity { return self }, Peers: peer.NewDirectory(), Config: &configs.Broker{},
		Images: images{image.Empty(self.ClusterID)}, Replicas: replica.NewDirectory(), Authorizer: api.AllowAll{}, APIs: api.Table(),
		Sessions: api.NewSessions(clock.System(), 10), Clock: clock.System(), Log: log, Stats: &api.Stats{},
		Controller: s.system.Spawn("controller", kit.Props{Kind: "controller", New: func() kit.Behavior { return s }}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.deps = &listener.Deps{
		Node: node, Log: log, Trace: s.tracer, Context: ctx, Credits: kit.NewCredits(1 << 20), NodeCredits: kit.NewCredits(1 << 20),
		ConnectionBytes: 1 << 20, RequestMax: 1 << 20, IdleMax: time.Minute, SendBuffer: -1, ReceiveBuffer: -1,
		Limits: func() *configs.Socket {
			return &configs.Socket{ConnectionsMax: 100, PerAddressMax: 100, CreationRate: 1000}
		},
		Descriptors: vfs.NewDescriptors(10_000), Observe: node.Stats.Observe,
	}
	a := &listener.Actor{Deps: s.deps, Name: "CONTROLLER", Controller: nodes, Nodes: nodes, Socket: socket}
	s.system.Spawn("listeners/CONTROLLER", kit.Props{Kind: "listener", New: func() kit.Behavior { return a }})
	t.Cleanup(func() {
		cancel()
		s.end()
	})
	return s
}

// end is the end of the process: connections are reset, and nobody listens.
func (s *server) end() {
	s.ended.Do(func() {
		_ = s.socket.Close()
		s.deps.Cut()
		if err := s.system.Shutdown(context.Background()); err != nil {
			s.t.Error(err)
		}
	})
}

func (s *server) address() peer.Address {
	return peer.Address{Host: "127.0.0.1", Port: uint16(s.socket.Addr().(*net.TCPAddr).Port)}
}

// caller is node 1, which connects to others by TCP.
type caller struct {
	t      *testing.T
	log    text
	dir    *peer.Directory
	peers  kit.Ref
	events chan kit.Message
}

// Receive is the watcher's.
func (c *caller) Receive(_ *kit.Context, m kit.Message) { c.events <- m }

func newCaller(t *testing.T) *caller {
	t.Helper()
	c := &caller{t: t, dir: peer.NewDirectory(), events: make(chan kit.Message, 100)}
	log := slog.New(slog.NewTextHandler(&c.log, nil))
	sys := kit.NewSystem(kit.Options{Log: log})
	c.peers = sys.Spawn("peers", peer.New(peer.Deps{
		Directory: c.dir, Transport: &peer.TCP{Log: log, FrameMax: 1 << 20}, Log: log, Self: func() private.Identity { return identity(1) },
	}))
	c.peers.Send(&peer.Watch{Watcher: sys.Spawn("watcher", kit.Props{Kind: "watcher", New: func() kit.Behavior { return c }})})
	t.Cleanup(func() {
		if err := sys.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// know tells where node 2 has its controller listener, and waits until calls to it are taken.
func (c *caller) know(at peer.Address) {
	c.t.Helper()
	c.peers.Send(&peer.Know{Source: "voters", Nodes: []peer.Node{{ID: 2, Controller: at}}})
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for began := time.Now(); len(c.dir.Stats()) == 0; <-again.C {
		if time.Since(began) > patience {
			c.t.Fatal("the node does not become known")
		}
	}
}

// outcome is what became of a call.
type outcome struct {
	resp kmsg.Response
	err  error
}

func (c *caller) call(body kmsg.Request, deadline time.Duration) chan outcome {
	done := make(chan outcome, 1)
	call := &peer.Call{Link: peer.Controller, Body: body, Done: func(resp kmsg.Response, err error) { done <- outcome{resp, err} }}
	if deadline != 0 {
		call.Deadline = time.Now().Add(deadline)
	}
	c.dir.SendCaused(trace.Context{Trace: 0xabc, Span: 1}, 2, call)
	return done
}

func beat(epoch int64) *kmsg.BrokerHeartbeatRequest {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version, req.BrokerEpoch = 1, epoch
	return req
}

func (s *server) answer(r *controller.Request) {
	resp := r.Body.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	resp.ErrorCode = int16(r.Body.(*kmsg.BrokerHeartbeatRequest).BrokerEpoch)
	r.Done(resp)
}

func TestNodesCallEachOtherAndNobodyWaitsForAnothersAnswer(t *testing.T) {
	s, c := newServer(t, identity(2), true), newCaller(t)
	c.know(s.address())
	slow := c.call(beat(1), 0)
	first := next(t, s.parked)
	if !first.Local {
		t.Error("a request of another node may be forwarded again")
	}
	quick := c.call(beat(2), 0)
	s.answer(next(t, s.parked))
	if o := next(t, quick); o.err != nil || o.resp.(*kmsg.BrokerHeartbeatResponse).ErrorCode != 2 {
		t.Fatalf("%+v", o)
	}
	message := []byte{8, 5}
	self, other := identity(1), identity(2)
	taken := c.call(&private.RaftRequest{FromID: 1, FromDirectory: self.Directory, ToID: 2, ToDirectory: other.Directory, Messages: [][]byte{message}}, 0)
	if m := next(t, s.raft); m.From.ID != 1 || m.From.Directory != self.Directory || string(m.Messages[0]) != string(message) {
		t.Errorf("%+v", m)
	}
	if o := next(t, taken); o.err != nil || o.resp.(*private.RaftResponse).ErrorCode != 0 {
		t.Fatalf("%+v", o)
	}
	s.answer(first)
	if o := next(t, slow); o.err != nil || o.resp.(*kmsg.BrokerHeartbeatResponse).ErrorCode != 1 {
		t.Fatalf("%+v", o)
	}
	if up, ok := next(t, c.events).(*peer.Up); !ok || up.Node != other || up.Link != peer.Controller {
		t.Errorf("watchers heard %+v", up)
	}
	traced := false
	for _, span := range s.tracer.Recent(1000) {
		traced = traced || span.TraceID == 0xabc && span.Kind == "BrokerHeartbeat"
	}
	if !traced {
		t.Error("the trace does not go on at the other node")
	}
}

func TestMessagesOfRaftForAnotherDiskAreRefused(t *testing.T) {
	s, c := newServer(t, identity(2), true), newCaller(t)
	c.know(s.address())
	self, other := identity(1), identity(2)
	for name, req := range map[string]*private.RaftRequest{
		"to a disk that was wiped": {FromID: 1, FromDirectory: self.Directory, ToID: 2, ToDirectory: model.UUID{9}},
		"to another node":          {FromID: 1, FromDirectory: self.Directory, ToID: 3, ToDirectory: other.Directory},
		"in another's name":        {FromID: 3, FromDirectory: self.Directory, ToID: 2, ToDirectory: other.Directory},
		"of another disk":          {FromID: 1, FromDirectory: model.UUID{9}, ToID: 2, ToDirectory: other.Directory},
	} {
		if o := next(t, c.call(req, 0)); o.err != nil || kerr.Code(o.resp.(*private.RaftResponse).ErrorCode) != kerr.InvalidVoterKey {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := next(t, c.call(&private.RaftRequest{FromID: 1, ToID: 2}, 0)); o.err != nil || o.resp.(*private.RaftResponse).ErrorCode != 0 {
		t.Errorf("without directories, as in a static quorum: %+v", o)
	}
	next(t, s.raft) // it is answered before it is passed on
	if len(s.raft) != 0 {
		t.Errorf("%d more requests were passed on, want the last alone", len(s.raft))
	}
}

func TestANodeThatEndsFailsItsCallsAndIsKnownToHaveEnded(t *testing.T) {
	s, c := newServer(t, identity(2), true), newCaller(t)
	c.know(s.address())
	var calls []chan outcome
	for n := range int64(10) {
		calls = append(calls, c.call(beat(n), 0))
		next(t, s.parked)
	}
	s.end()
	for _, call := range calls {
		if o := next(t, call); !errors.Is(o.err, peer.ErrDown) {
			t.Fatalf("%+v", o)
		}
	}
	next(t, c.events) // up
	for _, refused := range []bool{false, true} {
		if down, ok := next(t, c.events).(*peer.Down); !ok || down.Refused != refused || down.ID != 2 {
			t.Fatalf("watchers heard %+v", down)
		}
	}
}

func TestANodeThatIsSlowCostsTheCallerOnlyThatCall(t *testing.T) {
	s, c := newServer(t, identity(2), true), newCaller(t)
	c.know(s.address())
	slow := c.call(beat(1), 50*time.Millisecond)
	late := next(t, s.parked)
	if o := next(t, slow); !errors.Is(o.err, peer.ErrTimeout) {
		t.Fatalf("%+v", o)
	}
	s.answer(late)
	again := c.call(beat(2), 0)
	s.answer(next(t, s.parked))
	if o := next(t, again); o.err != nil || o.resp.(*kmsg.BrokerHeartbeatResponse).ErrorCode != 2 {
		t.Fatalf("%+v", o)
	}
}

func TestNodesThatDoNotBelongTogetherSaySoByName(t *testing.T) {
	theirs := identity(2)
	theirs.ClusterID = "theirs"
	for name, self := range map[string]private.Identity{"another cluster": theirs, "another node": identity(3), "a second of the same id": identity(1)} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(t, self, true), newCaller(t)
			c.know(s.address())
			if o := next(t, c.call(beat(1), 0)); !errors.Is(o.err, peer.ErrDown) {
				t.Fatalf("%+v", o)
			}
			if !c.log.contains("not the one expected") {
				t.Error("the caller says nothing")
			}
			if refuses := self.NodeID != 3; refuses && !s.log.contains("node refused") { // node 3 knows nothing of a mistake
				t.Error("the server says nothing")
			}
			if len(s.parked) != 0 {
				t.Error("the request went through")
			}
		})
	}
}

// talk sends requests as a client would and gives how many of them were answered before the connection was closed.
func talk(t *testing.T, at peer.Address, requests ...kmsg.Request) int {
	t.Helper()
	nc, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for i, req := range requests {
		if _, err := nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, int32(i))); err != nil {
			return i
		}
		var size [4]byte
		if _, err := nc.Read(size[:]); err != nil {
			return i
		}
		rest := make([]byte, int(size[2])<<8|int(size[3]))
		if _, err := nc.Read(rest); err != nil {
			t.Fatal(err)
		}
	}
	return len(requests)
}

func TestRequestsOfNodesAreUnknownToWhoHasNotShakenHandsAndOnClientsListeners(t *testing.T) {
	nodes, clients := newServer(t, identity(2), true), newServer(t, identity(2), false)
	hello := &private.HelloRequest{Node: identity(1)}
	versions := kmsg.NewPtrApiVersionsRequest()
	for name, c := range map[string]struct {
		at       *server
		requests []kmsg.Request
		answered int
	}{
		"a client on a controller's listener":        {nodes, []kmsg.Request{versions}, 1},
		"a handshake":                                {nodes, []kmsg.Request{hello}, 1},
		"raft without a handshake":                   {nodes, []kmsg.Request{&private.RaftRequest{}}, 0},
		"a heartbeat without a handshake":            {nodes, []kmsg.Request{versions, beat(1)}, 1},
		"raft after a handshake":                     {nodes, []kmsg.Request{hello, &private.RaftRequest{}}, 2},
		"a second handshake, and all goes on":        {nodes, []kmsg.Request{hello, hello, &private.RaftRequest{}}, 3},
		"a handshake on a clients' listener":         {clients, []kmsg.Request{versions, hello}, 1},
		"a heartbeat on a clients' listener":         {clients, []kmsg.Request{beat(1)}, 0},
		"a handshake as another cluster's node":      {nodes, []kmsg.Request{&private.HelloRequest{Node: private.Identity{ClusterID: "theirs", NodeID: 1, MaxVersion: 1}}, &private.RaftRequest{}}, 1},
		"a key between Kafka's and the private ones": {nodes, []kmsg.Request{&odd{}}, 0},
	} {
		if got := talk(t, c.at.address(), c.requests...); got != c.answered {
			t.Errorf("%s: %d requests are answered, want %d", name, got, c.answered)
		}
	}
}

// odd is a request of a key that nobody has.
type odd struct{ private.RaftRequest }

func (*odd) Key() int16 { return 20_000 }
