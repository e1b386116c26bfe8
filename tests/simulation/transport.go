package simulation

import (
	"strconv"
	"strings"

	"troupe/actors/peer"
)

// errRefused is what a machine answers on which nobody listens.
var errRefused = peer.ErrRefused

// transport is a process's way to the others.
type transport struct{ p *process }

// Dial is part of peer.Transport.
func (t transport) Dial(to peer.Address, e peer.Events) peer.Conn {
	w := t.p.host.world
	id, err := strconv.Atoi(strings.TrimPrefix(to.Host, "node"))
	c := &outward{host: t.p.host, end: &end{in: t.p.run, received: func(frame []byte) { e.Received(nil, frame) }, ended: e.Closed}}
	if err != nil || w.host(id) == nil {
		w.fail("node %d dials %s:%d, which there is not", t.p.host.id, to.Host, to.Port)
		return c
	}
	w.net.dial(t.p.host.id, id, int(to.Port), c.end, e.Opened)
	return c
}

// outward is a connection to another node.
type outward struct {
	host *host
	end  *end
}

// Write is part of peer.Conn. The frame's size is the stream's business; a parcel has one.
func (c *outward) Write(frame []byte) {
	c.host.world.checks.raft.sent(c.host, frame[4:])
	c.host.world.traps.sent(c, frame[4:])
	c.end.write(frame[4:])
}

// Close is part of peer.Conn.
func (c *outward) Close() { c.end.close() }

// Recycle is part of peer.Recycler. What is given back becomes garbage at once: whoever still reads it is found out.
func (transport) Recycle(frame []byte) {
	for i := range frame {
		frame[i] = 0xdd
	}
}
