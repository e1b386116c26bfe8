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
	nodes atomic.Pointer[map[model.BrokerID]kit.Ref]
}

// NewDirectory knows nobody yet.
func NewDirectory() *Directory { return &Directory{} }

// Send makes a call. It fails with ErrUnknown, before Send returns, where nobody of that id is known.
func (d *Directory) Send(id model.BrokerID, c *Call) { d.SendCaused(trace.Context{}, id, c) }

// SendCaused is Send within a trace, which goes on at the other node if the request's version is flexible.
func (d *Directory) SendCaused(cause trace.Context, id model.BrokerID, c *Call) {
	if nodes := d.nodes.Load(); nodes != nil {
		if ref, ok := (*nodes)[id]; ok {
			ref.SendCaused(cause, c)
			return
		}
	}
	c.Fail(ErrUnknown)
}
