package listener

import (
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/kit"
	"troupe/codec/frame"
	"troupe/internal/socket"
)

// flushAt is how much encoded reply is gathered before it is written.
const flushAt = 64 << 10

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

// writer gives out replies in request order, gathering those that are ready, and polls the long poll whose turn it is.
type writer struct {
	conn *conn
	// turn is that of whoever gives out replies. Only the writer goroutine is patient: others wait for nobody, and leave to it
	// what the socket does not take at once (behind) and replies with file regions (held).
	turn    *kit.Turn
	patient bool
	behind  bool
	held    *api.Payload
	over    bool // abandoned

	now   *socket.Writer // nil where no socket can be written to without waiting
	out   *[]byte
	sent  []*pending // encoded in out, not written yet
	alarm alarm
	// gathering is when the first reply in out began to be made.
	gathering time.Time
	served    api.Served // the room of one
	// current is the head of the queue while its reply is made: teardown leaves it to the writer.
	current *pending
}

// verdict is how a step of the writer ended.
type verdict uint8

const (
	onward  verdict = iota
	resting         // until the writer is woken
	ended           // the connection is over
)

// replies gives out what there is; false when the connection is over.
func (w *writer) replies() bool {
	v := w.resume()
	for v == onward {
		p, st, pause := w.conn.first()
		switch {
		case st == gone:
			v = ended
		case st == notYet:
			v = w.rest(pause)
		default:
			w.current = p
			switch {
			case p.state != deferred:
				v = w.answer(p)
			case st == aside:
				v = w.pollAside(p)
			default:
				v = w.poll(p)
			}
		}
	}
	return v != ended
}

// resume does what the reader had to leave.
func (w *writer) resume() verdict {
	switch {
	case w.over:
		return ended
	case !w.behind && w.held == nil:
		return onward
	case !w.patient:
		return resting
	case w.behind:
		if v := w.flush(); v != onward {
			return v
		}
	}
	if pl := w.held; pl != nil {
		w.held = nil
		return w.payload(w.current, pl)
	}
	return onward
}

// abandon lets go of what the writer holds when the connection is gone.
func (w *writer) abandon() {
	w.over = true
	w.alarm.stop()
	for _, p := range w.sent {
		w.conn.letGo(p)
	}
	if w.held != nil {
		w.held.Sent()
	}
	if p := w.current; p != nil {
		if p.later != nil {
			p.later.Abandon()
		}
		w.conn.letGo(p)
	}
}

// answer encodes the head's reply. The request leaves the queue once it is encoded, which is when its effects stand.
func (w *writer) answer(p *pending) verdict {
	c := w.conn
	switch p.state {
	case hangup:
		if v := w.flush(); v != onward {
			return v
		}
		c.deps.Log.Info("connection closed", "client", c.client.Host, "listener", c.client.Listener, "reason", p.reason)
		c.teardown()
		return ended
	case ready:
		w.begin(p, w.moment())
		at := len(*w.out)
		*w.out = p.reply.AppendTo(w.head(p))
		frame.End(*w.out, at, 0)
	}
	if !w.done(p) {
		return ended
	}
	if len(w.bytes()) >= flushAt {
		return w.flush()
	}
	return onward
}

// poll asks a long poll for its reply; when there is none yet it waits for a wake or the deadline.
func (w *writer) poll(p *pending) verdict {
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
	if payload, ok := p.later.Poll(w.turn, left <= 0, c); ok {
		return w.polled(p, payload)
	}
	return w.rest(max(left, 0)) // at its deadline it waits for the disk alone
}

// polled answers a long poll. Files are sent by the writer goroutine, which may wait for the peer to take them.
func (w *writer) polled(p *pending, pl *api.Payload) verdict {
	if !w.patient && len(pl.Holes) > 0 {
		w.held = pl
		w.conn.signal()
		return resting
	}
	return w.payload(p, pl)
}

// rest leaves the writer until it is woken, at the latest after a pause; 0 is never.
func (w *writer) rest(pause time.Duration) verdict {
	if v := w.flush(); v != onward {
		return v
	}
	w.dropBuffer()
	if pause > 0 {
		now := w.conn.deps.Node.Clock.Now()
		pause += lateness(w.conn.deps.age(now), pause)
		w.alarm.set(now.Add(pause), pause, w.conn.signal)
	}
	return resting
}

func (c *conn) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// payload writes a reply with file regions in it.
func (w *writer) payload(p *pending, pl *api.Payload) verdict {
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
		if v := w.flush(); v != onward {
			return v
		}
		if !w.region(h) {
			return ended
		}
	}
	*w.out = append(*w.out, pl.Bytes[from:]...)
	if !w.done(p) {
		return ended
	}
	return w.flush()
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
	w.turn.Leave() // as in push
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
func (w *writer) flush() verdict {
	c := w.conn
	wrote := len(w.bytes()) > 0
	if wrote {
		if v := w.push(); v != onward {
			return v
		}
	}
	if wrote || len(w.sent) > 0 {
		w.finished(c.deps.Node.Clock.Now(), wrote)
	}
	c.mu.Lock()
	c.unsent = false
	over := c.draining && c.head == len(c.queue)
	c.mu.Unlock()
	if over {
		c.teardown()
		return ended
	}
	return onward
}

// push writes out to the socket, all of it or, for the reader, what it takes.
func (w *writer) push() verdict {
	c := w.conn
	n, err := 0, error(nil)
	switch {
	case w.patient:
		w.turn.Leave() // actors do not wait for the peer
		n, err = c.net.Write(*w.out)
	case w.now != nil:
		n, err = w.now.Write(*w.out)
	}
	if err != nil {
		c.fail(err)
		return ended
	}
	left := copy(*w.out, (*w.out)[n:])
	*w.out = (*w.out)[:left]
	if w.behind = left > 0; w.behind {
		c.signal()
		return resting
	}
	return onward
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
