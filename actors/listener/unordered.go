package listener

import (
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/actors/kit"
)

// A connection of another node answers in any order, and begins every request when it comes: the node has many callers, who
// know nothing of each other. One that waits for the controller's commit must not hold up the messages of raft that bring it
// about, nor a long poll the heartbeat behind it.

// introduced notes that the node at the other end has shaken hands. Hello was answered before any request behind it is read.
// From here on the connection is none of a client's.
func (c *conn) introduced() {
	c.deps.mu.Lock()
	c.deps.uncount(c)
	c.deps.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unordered = true
}

func (c *conn) anyOrder() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unordered
}

// broker gives the credits that a request takes of the broker: those of other nodes are set apart, so that clients cannot
// keep them from replicating and voting. The handshake counts among them.
func (c *conn) broker(p *pending) *kit.Credits {
	if c.deps.NodeCredits != nil && (c.client.Peer != nil || p.handler.On == api.OnNodes) {
		return c.deps.NodeCredits
	}
	return c.deps.Credits
}

// firstReady looks for any request that can be answered, or polled. Without one it gives the time until a long poll ends; 0
// is never.
func (c *conn) firstReady() (*pending, time.Duration) {
	var at time.Time
	var pause time.Duration
	for _, p := range c.queue[c.head:] {
		switch {
		case p.state == working:
			continue
		case p.state != deferred || !p.asleep:
			return p, 0
		case p.over:
			continue
		}
		if at.IsZero() {
			at = c.deps.Node.Clock.Now()
		}
		left := p.until.Sub(at)
		if left <= 0 || c.draining {
			return p, 0
		}
		if pause == 0 || left < pause {
			pause = left
		}
	}
	return nil, pause
}

// pollAside asks a long poll for its reply, and lays it aside when there is none yet.
func (w *writer) pollAside(p *pending) verdict {
	c := w.conn
	at := c.deps.Node.Clock.Now()
	if p.takenUp == 0 {
		p.takeUp(at)
		p.until = p.later.Deadline()
	}
	over := !at.Before(p.until) || c.isDraining()
	c.mu.Lock()
	p.asleep = true // before it is polled, which may wake it at once
	c.mu.Unlock()
	if payload, ok := p.later.Poll(w.turn, over, laidAside{p}); ok {
		return w.polled(p, payload)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ended // the writer lets go of it
	}
	p.over = over
	c.answering, w.current = nil, nil
	return onward
}

// laidAside wakes a long poll that was laid aside.
type laidAside struct{ *pending }

// Here is part of kit.Errand.
func (p laidAside) Here(t *kit.Turn) {
	p.wakeUp()
	p.conn.Here(t)
}

// Elsewhere is part of kit.Errand.
func (p laidAside) Elsewhere() {
	p.wakeUp()
	p.conn.signal()
}

// wakeUp has the poll asked again.
func (p *pending) wakeUp() {
	p.conn.mu.Lock()
	p.asleep = false
	p.conn.mu.Unlock()
}

// remove takes the answered request out of the queue, wherever it stands.
func (c *conn) remove() {
	i := slices.Index(c.queue, c.answering)
	c.queue = slices.Delete(c.queue, i, i+1)
}
