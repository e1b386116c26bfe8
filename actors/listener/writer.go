package listener

import (
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/codec/frame"
)

// flushAt is how much encoded reply is gathered before it is written.
const flushAt = 64 << 10

// write is the writer goroutine: it gives out replies in request order, gathering those that are ready, and polls the
// long poll whose turn it is.
func (c *conn) write() {
	w := writer{conn: c}
	defer w.abandon()
	for {
		p, st, pause := c.first()
		switch st {
		case gone:
			return
		case now, aside:
			w.current = p
		case notYet:
			if !w.flush() {
				return
			}
			w.dropBuffer()
			w.await(pause)
			continue
		}
		if p.state == deferred {
			if st == aside && !w.pollAside(p) || st == now && !w.poll(p) {
				return
			}
			continue
		}
		if !w.answer(p) {
			return
		}
	}
}

// turn is what the queue has for the writer.
type turn uint8

const (
	notYet turn = iota
	now
	aside // as now, but others may be answered before it
	gone
)

// first looks at the head of the queue. With nothing to do yet it gives the time until there is, 0 where nobody knows.
func (c *conn) first() (*pending, turn, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, gone, 0
	case c.unordered:
		p, pause := c.firstReady()
		if p == nil {
			return nil, notYet, pause
		}
		c.answering = p
		return p, aside, 0
	case c.head == len(c.queue) || c.queue[c.head].state == working:
		return nil, notYet, 0
	}
	c.answering = c.queue[c.head]
	return c.answering, now, 0
}

// pop takes the answered head off; false when the connection was torn down meanwhile, and with it the request.
func (c *conn) pop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return false
	case c.unordered:
		c.remove()
		c.answering, c.unsent = nil, true
		c.answered.Signal()
		return true
	}
	c.queue[c.head], c.answering = nil, nil
	c.unsent = true
	c.head++
	switch {
	case c.head == len(c.queue):
		c.queue, c.head = c.queue[:0], 0
	// A queue that never runs empty is moved to the front now and then, at a cost of one move a request at the most.
	case c.head > 64 && c.head*2 > len(c.queue):
		n := copy(c.queue, c.queue[c.head:])
		clear(c.queue[n:])
		c.queue, c.head = c.queue[:n], 0
	}
	c.answered.Signal()
	return true
}

// writer gathers encoded replies.
type writer struct {
	conn  *conn
	out   *[]byte
	sent  []*pending // encoded in out, not written yet
	timer *time.Timer
	// gathering is when the first reply in out began to be made.
	gathering time.Time
	served    api.Served // the room of one
	// current is the head of the queue while its reply is made: teardown leaves it to the writer.
	current *pending
}

// abandon lets go of what the writer holds when the connection is gone.
func (w *writer) abandon() {
	for _, p := range w.sent {
		w.conn.letGo(p)
	}
	if p := w.current; p != nil {
		if p.later != nil {
			p.later.Abandon()
		}
		w.conn.letGo(p)
	}
}

// answer encodes the head's reply. The request leaves the queue once it is encoded, which is when its effects stand.
func (w *writer) answer(p *pending) bool {
	c := w.conn
	switch p.state {
	case hangup:
		if !w.flush() {
			return false
		}
		c.deps.Log.Info("connection closed", "client", c.client.Host, "listener", c.client.Listener, "reason", p.reason)
		c.teardown()
		return false
	case ready:
		w.begin(p, w.moment())
		at := len(*w.out)
		*w.out = p.reply.AppendTo(w.head(p))
		frame.End(*w.out, at, 0)
	}
	if !w.done(p) {
		return false
	}
	return len(w.bytes()) < flushAt || w.flush()
}

// poll asks a long poll for its reply; when there is none yet it waits for a wake or the deadline.
func (w *writer) poll(p *pending) bool {
	c := w.conn
	now := c.deps.Node.Clock.Now()
	if p.takenUp == 0 {
		p.takeUp(now)
	}
	left := p.later.Deadline().Sub(now)
	// A stop does not wait for long polls: they give what they have.
	if c.isDraining() {
		left = 0
	}
	payload, ok := p.later.Poll(left <= 0, c.signal)
	if ok {
		return w.payload(p, payload)
	}
	if !w.flush() {
		return false
	}
	w.dropBuffer()
	if left <= 0 { // at its deadline it waits for the disk alone
		<-c.wake
		return true
	}
	w.await(left)
	return true
}

func (c *conn) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// payload writes a reply with file regions in it.
func (w *writer) payload(p *pending, pl *api.Payload) bool {
	n := pl.Len()
	w.conn.credits.Charge(n) // the regions are pinned until they are sent
	defer w.conn.credits.Release(n)
	defer pl.Sent()
	w.begin(p, w.conn.deps.Node.Clock.Now())
	at := len(*w.out)
	*w.out = w.head(p)
	frame.End(*w.out, at, int(n))
	// Bytes between holes are gathered with what was there before; each hole is filled from its file.
	from := 0
	for _, h := range pl.Holes {
		*w.out = append(*w.out, pl.Bytes[from:h.At]...)
		from = h.At
		if !w.flush() || !w.region(h) {
			return false
		}
	}
	*w.out = append(*w.out, pl.Bytes[from:]...)
	return w.done(p) && w.flush()
}

// done takes the current request off the queue.
func (w *writer) done(p *pending) bool {
	if !w.conn.pop() {
		return false
	}
	w.current = nil
	w.sent = append(w.sent, p)
	return true
}

// region fills a hole. The frame's size is out already, so a region that cannot be read ends the connection.
func (w *writer) region(h api.Hole) bool {
	if err := sendRegion(w.conn.net, &h.Region); err != nil {
		w.conn.fail(err)
		return false
	}
	w.conn.touch()
	return true
}

// head appends a frame's size, to be filled in, and the reply header.
func (w *writer) head(p *pending) []byte {
	return frame.AppendResponseHeader(frame.Begin(*w.out), p.handler.Key, p.version, p.correlation, nil)
}

// begin takes a buffer only when there is something to encode: idle connections hold none.
func (w *writer) begin(p *pending, now time.Time) {
	p.takeUp(now)
	if w.out == nil {
		w.out = outBuffers.Get().(*[]byte)
	}
}

// moment is when the replies began to be made that are not written yet: the clock is asked once for all of them.
func (w *writer) moment() time.Time {
	if w.gathering.IsZero() {
		w.gathering = w.conn.deps.Node.Clock.Now()
	}
	return w.gathering
}

func (w *writer) bytes() []byte {
	if w.out == nil {
		return nil
	}
	return *w.out
}

// flush writes what was gathered and lets go of what the answered requests held.
func (w *writer) flush() bool {
	c := w.conn
	var err error
	wrote := len(w.bytes()) > 0
	if wrote {
		_, err = c.net.Write(*w.out)
		*w.out = (*w.out)[:0]
	}
	if wrote || len(w.sent) > 0 {
		w.finished(c.deps.Node.Clock.Now(), wrote)
	}
	if err != nil {
		c.fail(err)
		return false
	}
	c.mu.Lock()
	c.unsent = false
	over := c.draining && c.head == len(c.queue)
	c.mu.Unlock()
	if over {
		c.teardown()
		return false
	}
	return true
}

// finished ends the requests whose replies have left.
func (w *writer) finished(now time.Time, wrote bool) {
	c := w.conn
	if wrote {
		c.touchAt(now)
	}
	for i, p := range w.sent {
		p.served(&w.served, now)
		p.span.Part("reply", p.received.Add(p.answered), p.received.Add(p.sending))
		c.letGo(p)
		c.deps.Observe(&w.served)
		w.sent[i] = nil
	}
	w.sent, w.served, w.gathering = w.sent[:0], api.Served{}, time.Time{}
}

func (c *conn) fail(err error) {
	c.deps.Log.Debug("connection lost", "client", c.client.Host, "err", fmt.Sprint(err))
	c.teardown()
}

// dropBuffer gives the buffer back while there is nothing to write.
func (w *writer) dropBuffer() {
	if w.out != nil && len(*w.out) == 0 {
		if cap(*w.out) <= 4*flushAt {
			outBuffers.Put(w.out)
		}
		w.out = nil
	}
}
