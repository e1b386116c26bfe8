package simulation

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
	"troupe/codec/frame"
	"troupe/internal/clock"
)

// session is a broker's side of a connection: what the listener's reader and writer do, as turns of one goroutine. Requests
// are worked on concurrently where their ordering keys allow, and answered in order.
type session struct {
	process *process
	end     *end
	client  *api.Client
	unread  [][]byte   // frames, in order of arrival
	next    *pending   // read, and not started: an earlier one stands before it
	queue   []*pending // started and not answered, in order
	woken   bool
}

// pending is a request on its way through the broker; it is the request's api.Slot.
type pending struct {
	session  *session
	header   frame.RequestHeader
	handler  *api.Handler
	body     kmsg.Request
	keys     []uint64
	received time.Time
	state    state
	reply    api.Body
	later    api.Deferred
	asleep   bool // nothing has come since the long poll was last asked
	alarm    clock.Timer
}

type state uint8

const (
	working state = iota
	ready
	deferred
	silent
	hangup
)

// accept takes a connection for a port; nil refuses it, since nobody listens.
func (h *host) accept(port, from int) *end {
	p := h.process
	if p == nil || port != brokerPort && port != controllerPort {
		return nil
	}
	p.connection++
	s := &session{process: p, client: &api.Client{
		Connection: p.connection, Listener: "PLAINTEXT", Nodes: true, Principal: "User:ANONYMOUS", Host: "client",
	}}
	if port == controllerPort {
		s.client.Listener, s.client.Controller = "CONTROLLER", true
	}
	s.end = &end{net: h.world.net, local: h.id, remote: from, port: port, in: p.run, received: s.received, ended: s.ended}
	h.world.net.ends = append(h.world.net.ends, s.end)
	p.sessions = append(p.sessions, s)
	return s.end
}

func (s *session) received(b []byte) {
	if s.process.host.rough && s.rough(b) {
		return
	}
	s.unread = append(s.unread, b)
	s.wake()
}

// read takes the next frame apart. What cannot be understood, or is not answered here, ends the connection.
func (s *session) read() *pending {
	b := s.unread[0]
	s.unread = s.unread[1:]
	w := s.process.host.world
	header, body, err := frame.ParseRequestHeader(b)
	if err != nil {
		w.fail("a frame without a header: %w", err)
		return nil
	}
	h, here := api.Lookup(header.Key, s.client)
	if h == nil || !here || !h.Supports(header.Version) {
		w.note("hangup", "node %d does not answer API key %d, version %d, on %s", s.process.host.id, header.Key, header.Version, s.client.Listener)
		s.end.close()
		return nil
	}
	req := requestFor(header.Key)
	req.SetVersion(header.Version)
	if err := req.ReadFrom(body); err != nil {
		w.fail("%s request of version %d: %w", h.Name, header.Version, err)
		return nil
	}
	return &pending{session: s, header: header, handler: h, body: req, received: s.process.broker.Node().Clock.Now()}
}

// wake has the session take a turn among the actors.
func (s *session) wake() {
	if s.woken || s.process.dead {
		return
	}
	s.woken = true
	s.process.order.Schedule(s.turn)
}

// turn starts the next request that nothing stands in the way of, and gives the replies whose turn it is.
func (s *session) turn() {
	s.woken = false
	// What a client has given up is not begun: no client counts on it, and some count on it not to come late.
	if s.end.closed || s.end.peer.closed {
		return
	}
	if p := s.startable(); p != nil {
		s.next, s.queue = nil, append(s.queue, p)
		node := s.process.broker.Node()
		node.Handle(api.NewRequest(api.Arrival{
			Handler: p.handler, Version: p.header.Version, ClientID: string(p.header.ClientID), Body: p.body,
			Client: s.client, Received: p.received, Slot: p,
		}))
		s.wake()
	}
	s.reply()
}

// anyOrder tells that another node has introduced itself: its requests are begun as they come and answered as they can be.
func (s *session) anyOrder() bool { return s.client.Peer != nil }

// reply sends the replies whose turn it is.
func (s *session) reply() {
	for i := 0; i < len(s.queue) && !s.end.closed; {
		switch {
		case s.answer(s.queue[i]):
			s.queue = slices.Delete(s.queue, i, i+1)
			s.wake() // somebody may have waited for it
		case s.anyOrder():
			i++
		default:
			return
		}
	}
}

// startable is the next request, if no earlier one stands before it. A node that does not serve yet listens to other nodes
// only.
func (s *session) startable() *pending {
	if !s.process.serving && !s.client.Controller {
		return nil
	}
	if s.next == nil && len(s.unread) > 0 {
		s.next = s.read()
	}
	if s.next == nil || !s.anyOrder() && slices.ContainsFunc(s.queue, s.next.conflicts) {
		return nil
	}
	return s.next
}

// answer sends a reply that is there; false when it is not.
func (s *session) answer(p *pending) bool {
	switch p.state {
	case ready:
		out := p.head()
		body := p.reply.AppendTo(nil)
		s.process.host.world.cover.answered(p.body, body)
		s.end.write(append(out, body...))
	case deferred:
		return s.poll(p)
	case silent:
	case hangup:
		s.end.close()
	default:
		return false
	}
	return true
}

func (p *pending) head() []byte {
	return frame.AppendResponseHeader(nil, p.header.Key, p.header.Version, p.header.CorrelationID, nil)
}

// poll asks a long poll for its reply. Who waits is woken by what it waits for, or by its deadline.
func (s *session) poll(p *pending) bool {
	if p.asleep {
		return false
	}
	if p.alarm != nil {
		p.alarm.Stop()
	}
	c := s.process.broker.Node().Clock
	left := p.later.Deadline().Sub(c.Now())
	p.asleep = true
	awake := func() { p.asleep = false; s.wake() }
	payload, ok := p.later.Poll(nil, left <= 0, api.Wake(awake))
	if !ok {
		if left > 0 {
			p.alarm = c.AfterFunc(left, awake)
		}
		return false
	}
	out := p.head()
	from := 0
	for _, h := range payload.Holes {
		out = append(out, payload.Bytes[from:h.At]...)
		from = h.At
		region := make([]byte, h.Region.Len)
		if _, err := h.Region.File.ReadAt(region, h.Region.Pos); err != nil {
			payload.Sent()
			s.end.close()
			return true
		}
		out = append(out, region...)
	}
	s.end.write(append(out, payload.Bytes[from:]...))
	payload.Sent()
	return true
}

// ended lets go of what waited for a connection that is gone.
func (s *session) ended(error) {
	for _, p := range s.queue {
		if p.later != nil {
			p.later.Abandon()
		}
	}
	s.queue, s.next, s.unread = nil, nil, nil
	s.process.sessions = slices.DeleteFunc(s.process.sessions, func(o *session) bool { return o == s })
}

// conflicts tells whether p has to wait for an earlier request.
func (p *pending) conflicts(earlier *pending) bool {
	if p.handler.Order.Keys == nil || earlier.handler.Order.Keys == nil {
		return true
	}
	if p.handler == earlier.handler && p.handler.Order.Pipelined {
		return false
	}
	mine := p.orderKeys()
	return slices.ContainsFunc(earlier.orderKeys(), func(k uint64) bool { return slices.Contains(mine, k) })
}

func (p *pending) orderKeys() []uint64 {
	if p.keys == nil {
		p.keys = p.handler.Order.Keys(p.session.process.broker.Node(), []uint64{}, p.body)
	}
	return p.keys
}

// complete takes the first outcome.
func (p *pending) complete(st state) bool {
	if p.state != working {
		return false
	}
	p.state = st
	p.session.wake()
	return true
}

// Ready is part of api.Slot.
func (p *pending) Ready(b api.Body) {
	if p.complete(ready) {
		p.reply = b
	}
}

// ReadyLater is part of api.Slot.
func (p *pending) ReadyLater(d api.Deferred) {
	if !p.complete(deferred) {
		return
	}
	if p.later = d; p.session.end.closed {
		d.Abandon()
	}
}

// Nothing is part of api.Slot.
func (p *pending) Nothing() { p.complete(silent) }

// Hangup is part of api.Slot.
func (p *pending) Hangup(string) { p.complete(hangup) }

// KeepBytes is part of api.Slot; frames here are never used again.
func (p *pending) KeepBytes() {}
