package peer

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/internal/model"
	"troupe/internal/socket"
)

// node is the actor of one other node.
type node struct {
	deps  Deps
	id    model.BrokerID
	known *atomic.Pointer[places] // the supervisor's word
	wires [linkCount]*wire
	// complaint is what was last said of the node's handshakes: it is said once, not with each attempt.
	complaint string
}

type (
	// moved says that the node's addresses have changed.
	moved struct{}
	// met says that the node has connected to this one.
	met struct{}
	// began tells the supervisor that the actor begins: none of its links is up.
	began struct{ id model.BrokerID }
	// linkDue is the machine's timer.
	linkDue struct{ wire *wire }
	// sweepDue looks for calls whose time is over.
	sweepDue struct{ wire *wire }
	// opened, received and closed are what a connection tells.
	opened   struct{ ear *ear }
	received struct {
		ear   *ear
		frame []byte
	}
	closed struct {
		ear *ear
		err error
	}
)

func (*moved) MessageKind() string    { return "peer.moved" }
func (*met) MessageKind() string      { return "peer.met" }
func (*began) MessageKind() string    { return "peer.began" }
func (*linkDue) MessageKind() string  { return "peer.link-due" }
func (*sweepDue) MessageKind() string { return "peer.sweep-due" }
func (*opened) MessageKind() string   { return "peer.opened" }
func (*received) MessageKind() string { return "peer.received" }
func (*closed) MessageKind() string   { return "peer.closed" }

// MessageBytes is part of kit.Sized.
func (m *received) MessageBytes() int { return len(m.frame) }

// ear is the Events of one connection: it passes on what it hears as messages.
type ear struct {
	self kit.Ref
	wire *wire
}

// Opened is part of Events.
func (e *ear) Opened() { e.self.Send(&opened{e}) }

// Received is part of Events.
func (e *ear) Received(t *kit.Turn, frame []byte) {
	t.Send(e.self, trace.Context{}, &received{e, frame})
}

// Closed is part of Events.
func (e *ear) Closed(err error) { e.self.Send(&closed{e, err}) }

func newNode(d Deps, id model.BrokerID, known *atomic.Pointer[places], counts *[linkCount]counters) *node {
	n := &node{deps: d, id: id, known: known}
	recycler, _ := d.Transport.(Recycler)
	for l := range n.wires {
		n.wires[l] = &wire{link: Link(l), count: &counts[l], recycler: recycler, flying: make(map[int32]*flight)}
	}
	return n
}

// Start makes the connections.
func (n *node) Start(ctx *kit.Context) {
	ctx.Send(ctx.Parent(), &began{n.id})
	n.relocate(ctx)
}

// Receive is part of kit.Behavior.
func (n *node) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Call:
		n.call(ctx, m)
	case *received:
		n.received(ctx, m)
	case *opened:
		if w := m.ear.wire; w.ear == m.ear {
			n.follow(ctx, w, w.machine.opened())
		}
	case *closed:
		if w := m.ear.wire; w.ear == m.ear {
			w.conn = nil
			n.missed(w, socket.Cause(m.err))
			// That nobody listens at another address says nothing of the node.
			n.follow(ctx, w, w.machine.closed(ctx.Now(), m.err == ErrRefused && w.at == w.metAt))
		}
	case *linkDue:
		m.wire.timer = nil
		n.missed(m.wire, errSilent)
		n.follow(ctx, m.wire, m.wire.machine.due(ctx.Now()))
	case *sweepDue:
		if sent := m.wire.overdue(ctx); !sent.IsZero() {
			if s := m.wire.machine.unanswered(ctx.Now(), sent, m.wire.heard); s.hang {
				n.follow(ctx, m.wire, s)
			}
		}
	case *moved:
		n.relocate(ctx)
	case *Probe:
		n.probe(ctx)
	case *met:
		for _, w := range n.wires {
			if w.machine.worthDialing() && w.address != (Address{}) {
				n.follow(ctx, w, w.machine.heard())
			}
		}
	}
}

// Crashed ends what the next incarnation knows nothing of.
func (n *node) Crashed(error) { n.drop() }

// Stopped is the end of a node that nobody tells of any more, or of the broker.
func (n *node) Stopped(*kit.Context) { n.drop() }

func (n *node) drop() {
	for _, w := range n.wires {
		w.hangUp()
		w.failAll(ErrDown)
		w.count.up.Store(false)
	}
}

// call takes a call in. Its deadline bounds the time that it waits for a connection, too.
func (n *node) call(ctx *kit.Context, c *Call) {
	deadline := c.Deadline
	if deadline.IsZero() {
		deadline = ctx.Now().Add(n.deps.Timeout)
	}
	n.wires[c.Link].take(ctx, &flight{call: c, cause: ctx.Cause(), deadline: deadline})
}

// received takes a frame: the answer to the handshake, or a reply. What cannot be read ends the connection, since nothing
// that follows could be trusted either.
func (n *node) received(ctx *kit.Context, m *received) {
	w := m.ear.wire
	if w.ear != m.ear {
		return
	}
	w.heard = ctx.Now()
	w.count.received.Add(uint64(len(m.frame)))
	switch w.machine.state {
	case greeting:
		n.greeted(ctx, w, m.frame)
	case standing:
		if err := w.replied(ctx, m.frame); err != nil {
			n.deps.Log.Warn("link ended: a reply cannot be read", "node", n.id, "link", w.link.String(), "err", err)
			n.follow(ctx, w, w.machine.lost(ctx.Now()))
		}
	}
}

// greeted judges the node by how it introduced itself.
func (n *node) greeted(ctx *kit.Context, w *wire, b []byte) {
	other, err := n.introduced(b)
	if err != nil {
		if text := err.Error(); text != n.complaint {
			n.complaint = text
			n.deps.Log.Error("node is not the one expected", "node", n.id, "address", w.at.String(), "reason", err)
		}
		n.missed(w, err)
		n.follow(ctx, w, w.machine.estranged())
		return
	}
	n.complaint, w.metAt = "", w.at
	w.count.missed.Store(nil)
	s := w.machine.greeted(ctx.Now())
	w.count.connections.Add(1)
	w.count.up.Store(true)
	ctx.Send(ctx.Parent(), &Up{ID: n.id, Link: w.link, Node: *other})
	n.follow(ctx, w, s)
}

// errSilent is the end of a patience.
var errSilent = errors.New("no answer")

// missed takes down how an attempt at meeting the node has ended, for those who wait for it.
func (n *node) missed(w *wire, err error) {
	if w.machine.state == dialing || w.machine.state == greeting {
		w.count.missed.Store(&Missed{w.at, err})
	}
}

// introduced reads the answer to the handshake. Both nodes judge, so that each can say what is wrong.
func (n *node) introduced(b []byte) (*private.Identity, error) {
	resp, err := reply(&private.HelloRequest{}, b)
	if err != nil {
		return nil, err
	}
	hello := resp.(*private.HelloResponse)
	switch {
	case hello.ErrorCode != 0 && hello.Message != nil:
		return nil, &kerr.Error{Code: kerr.Code(hello.ErrorCode), Detail: *hello.Message}
	case hello.ErrorCode != 0:
		return nil, kerr.Code(hello.ErrorCode)
	case hello.Node.NodeID != n.id:
		return nil, &Stranger{Expected: n.id, Met: hello.Node}
	}
	self := n.deps.Self()
	return &hello.Node, self.Recognize(&hello.Node)
}

// probe asks on the links that stand whether anybody is there. Whatever is received meanwhile is an answer.
func (n *node) probe(ctx *kit.Context) {
	for _, w := range n.wires {
		if w.machine.state != standing || w.probing {
			continue
		}
		w.probing = true
		c := &Call{Link: w.link, Body: kmsg.NewPtrApiVersionsRequest(), Done: func(kmsg.Response, error) { w.probing = false }}
		w.take(ctx, &flight{call: c, cause: ctx.Cause(), deadline: ctx.Now().Add(silenceMin)})
	}
}

// relocate follows the supervisor's word on where the node is. A link goes on to a new address when that is the likeliest now,
// or the one that it has is known no more.
func (n *node) relocate(ctx *kit.Context) {
	known := n.known.Load()
	for _, w := range n.wires {
		first := known.first(w.link)
		switch {
		case first == w.address && (first == Address{} || slices.Contains(known[w.link], w.at)):
		case first == (Address{}):
			w.address, w.at = first, first
			n.follow(ctx, w, w.machine.end())
		default:
			w.address, w.at = first, first
			w.count.used.Store(true)
			n.follow(ctx, w, w.machine.begin())
		}
	}
}

// follow does what a link's machine decided.
func (n *node) follow(ctx *kit.Context, w *wire, s step) {
	if s.hang {
		w.hangUp()
	}
	if s.fail {
		w.failAll(ErrDown)
	}
	if s.down {
		w.count.up.Store(false)
		ctx.Send(ctx.Parent(), &Down{ID: n.id, Link: w.link})
	}
	if s.refused {
		ctx.Send(ctx.Parent(), &Down{ID: n.id, Link: w.link, Refused: true})
	}
	if s.dial {
		if w.machine.elsewhere() {
			w.at = n.known.Load().after(w.link, w.at)
		}
		w.ear = &ear{self: ctx.Self(), wire: w}
		w.conn = n.deps.Transport.Dial(w.at, w.ear)
	}
	w.setTimer(ctx, s.timer)
	if s.greet {
		w.conn.Write(w.frame(&private.HelloRequest{Node: n.deps.Self()}, helloID, ctx.Cause()))
	}
	if s.up {
		w.heard = ctx.Now()
		w.advance(ctx)
	}
}

func (w *wire) hangUp() {
	if w.conn != nil {
		w.conn.Close()
	}
	w.conn, w.ear = nil, nil
}

func (w *wire) setTimer(ctx *kit.Context, d time.Duration) {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if d > 0 {
		w.timer = ctx.After(d, &linkDue{w})
	}
}
