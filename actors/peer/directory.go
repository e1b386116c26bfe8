package peer

import (
	"sync/atomic"

	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/internal/model"
)

// Directory finds the actor of a node. It is for any goroutine; only the `peers` actor changes it.
type Directory struct {
	// nodes is replaced whole when a node comes or goes.
	nodes atomic.Pointer[map[model.BrokerID]entry]
}

// entry is what the others of this process see of a node.
type entry struct {
	ref    kit.Ref
	counts *[linkCount]counters
}

// NewDirectory knows nobody yet.
func NewDirectory() *Directory { return &Directory{} }

// Send makes a call. It fails with ErrUnknown, before Send returns, where nobody of that id is known.
func (d *Directory) Send(id model.BrokerID, c *Call) { d.SendCaused(trace.Context{}, id, c) }

// SendCaused is Send within a trace, which goes on at the other node if the request's version is flexible.
func (d *Directory) SendCaused(cause trace.Context, id model.BrokerID, c *Call) {
	if e, ok := d.entries()[id]; ok {
		t := c.Turn
		c.Turn = nil
		t.Send(e.ref, cause, c)
		return
	}
	c.Fail(ErrUnknown)
}

// Met says that a node has introduced itself on a connection that it made: it can be reached again, which its actor would
// find out only at its next attempt.
func (d *Directory) Met(id model.BrokerID) {
	if e, ok := d.entries()[id]; ok {
		e.ref.Send(&met{})
	}
}

// entries is not to be changed.
func (d *Directory) entries() map[model.BrokerID]entry {
	if p := d.nodes.Load(); p != nil {
		return *p
	}
	return nil
}
