package simulation

import (
	"errors"
	"time"
)

// network carries frames between machines as TCP does: in order and whole, or not at all. A cut holds back what is sent
// until it is healed, as retransmissions do; a connection that cannot send for patience breaks.
type network struct {
	world *World
	cuts  map[cut]bool
	// slow is added to the latency of what a machine sends.
	slow map[int]time.Duration
	// held waits for a cut to be healed, in the order sent.
	held []*parcel
	ends []*end // that are not closed, in the order opened
}

// direction is a way from one machine to another. Brokers are numbered by their ids, clients from firstClient on.
type direction struct{ from, to int }

const firstClient = 100

// cut is a way that nothing goes, or only what belongs to connections to one port.
type cut struct {
	direction
	port int
}

const everyPort = 0

const (
	patience     = 12 * time.Second // of a TCP connection whose packets are not acknowledged
	dialPatience = 3 * time.Second
	leastLatency = 50 * time.Microsecond
	mostLatency  = 600 * time.Microsecond
)

// The errors of connections that break.
var (
	errReset   = errors.New("connection reset by peer")
	errTimeout = errors.New("connection timed out")
	errClosed  = errors.New("connection closed")
)

// parcel is something on its way: a frame, the news of an opening, the end of a connection.
type parcel struct {
	direction
	port    int // that its connection was opened to
	sent    time.Time
	stream  *stream
	arrive  func()
	lost    func() // the sender's machine gives up; nil where nobody waits
	dropped bool
}

// stream keeps what goes one way of a connection in order.
type stream struct{ last time.Time }

func newNetwork(w *World) *network {
	return &network{world: w, cuts: map[cut]bool{}, slow: map[int]time.Duration{}}
}

// send brings something to another machine some time later, after what went the same way before.
func (n *network) send(p *parcel) {
	p.sent = n.world.clock.Now()
	if n.stands(p) {
		n.hold(p)
		return
	}
	n.carry(p)
}

func (n *network) carry(p *parcel) {
	w := n.world
	now := w.clock.Now()
	at := now.Add(w.between(leastLatency, mostLatency) + n.slow[p.from])
	if p.stream != nil {
		if at.Before(p.stream.last) {
			at = p.stream.last
		}
		p.stream.last = at
	}
	w.after(at.Sub(now), p.arrive)
}

func (n *network) hold(p *parcel) {
	n.held = append(n.held, p)
	n.world.after(patience, func() {
		if p.dropped || !n.holds(p) {
			return
		}
		p.dropped = true
		if p.lost != nil {
			p.lost()
		}
	})
}

func (n *network) holds(p *parcel) bool {
	for _, q := range n.held {
		if q == p {
			return true
		}
	}
	return false
}

// cut stops what goes one way.
func (n *network) cut(from, to, port int) { n.cuts[cut{direction{from, to}, port}] = true }

// stands tells that a parcel cannot go.
func (n *network) stands(p *parcel) bool {
	return n.cuts[cut{p.direction, everyPort}] || n.cuts[cut{p.direction, p.port}]
}

// heal brings what was held back, first what was sent first.
func (n *network) heal(from, to, port int) {
	c := cut{direction{from, to}, port}
	if !n.cuts[c] {
		return
	}
	delete(n.cuts, c)
	held := n.held
	n.held = nil
	for _, p := range held {
		switch {
		case p.dropped:
		case n.stands(p):
			n.held = append(n.held, p)
		default:
			n.carry(p)
		}
	}
}

// healAll ends every cut and slowness.
func (n *network) healAll() {
	for _, from := range n.machines() {
		for _, to := range n.machines() {
			for _, port := range []int{everyPort, brokerPort, controllerPort} {
				n.heal(from, to, port)
			}
		}
		delete(n.slow, from)
	}
}

func (n *network) machines() (all []int) {
	for _, h := range n.world.hosts {
		all = append(all, h.id)
	}
	for i := range clientMachines {
		all = append(all, firstClient+i)
	}
	return all
}

// end is one side of a connection.
type end struct {
	net           *network
	local, remote int
	port          int // of the side that was dialed
	peer          *end
	out           stream
	closed        bool
	// in runs what arrives where it belongs: a process that is paused hears of it later, one that died never.
	in       func(func())
	received func(frame []byte)
	ended    func(error)
}

// dial opens a connection from a machine to a process's port; opened or the end's ended is called later.
func (n *network) dial(from, to, port int, e *end, opened func()) {
	e.net, e.local, e.remote, e.port = n, from, to, port
	n.ends = append(n.ends, e)
	given := false
	n.world.after(dialPatience, func() {
		if !given && !e.closed {
			e.finish(errTimeout)
		}
	})
	n.send(&parcel{direction: direction{from, to}, port: port, arrive: func() {
		h := n.world.host(to)
		if h.off { // nobody answers
			return
		}
		answer := func() { given = true; e.finish(errRefused) }
		if s := h.accept(port, from); s != nil {
			s.peer, e.peer = e, s
			answer = func() {
				given = true
				if !e.closed {
					e.in(func() { opened() })
				}
			}
		}
		n.send(&parcel{direction: direction{to, from}, port: port, arrive: answer})
	}})
}

// write sends a frame to the other end.
func (e *end) write(frame []byte) {
	if e.closed || e.peer == nil || e.peer.net == nil { // nobody reads it
		return
	}
	n, to := e.net, e.peer
	n.send(&parcel{
		direction: direction{e.local, e.remote}, port: e.port, stream: &e.out,
		arrive: func() { to.take(frame, e) },
		lost:   func() { e.finish(errTimeout) },
	})
}

// take is the arrival of a frame. A machine that knows nothing of the connection says so.
func (e *end) take(frame []byte, from *end) {
	n := e.net
	if h := n.world.host(e.local); h != nil && h.off {
		n.world.after(patience, func() { from.finish(errTimeout) })
		return
	}
	if e.closed {
		n.send(&parcel{direction: direction{e.local, e.remote}, port: e.port, arrive: func() { from.finish(errReset) }})
		return
	}
	n.world.history.frame(e.remote, e.local, frame)
	e.in(func() {
		if !e.closed {
			e.received(frame)
		}
	})
}

// close ends the connection from this side; the other hears of it after what was sent before.
func (e *end) close() {
	if e.closed {
		return
	}
	e.finish(errClosed)
	if to := e.peer; to != nil {
		e.net.send(&parcel{direction: direction{e.local, e.remote}, port: e.port, stream: &e.out, arrive: func() { to.finish(errReset) }})
	}
}

// finish ends this side alone.
func (e *end) finish(err error) {
	if e.closed {
		return
	}
	e.forget()
	// Later, since an actor may be at the place that closes.
	e.net.world.after(0, func() { e.in(func() { e.ended(err) }) })
}

// forget ends this side without a word to anybody: its machine lost power.
func (e *end) forget() {
	e.closed = true
	for i, other := range e.net.ends {
		if other == e {
			e.net.ends = append(e.net.ends[:i], e.net.ends[i+1:]...)
			return
		}
	}
}

// of lists the open ends on a machine.
func (n *network) of(machine int) (all []*end) {
	for _, e := range n.ends {
		if e.local == machine {
			all = append(all, e)
		}
	}
	return all
}
