package listener

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/actors/kit"
	"troupe/codec/frame"
	"troupe/internal/socket"
)

// inFlightMax bounds the requests of a connection that are worked on at once.
const inFlightMax = 1024

// conn is one connection: a reader and a writer goroutine that exchange messages with actors. Requests are worked on
// concurrently, where their ordering keys allow; replies go out in request order.
//
// What the reader wakes it also does itself before it waits for more bytes: the actors (turn), then the replies that are there
// (writer). A thread that sleeps is woken only for what comes later, from elsewhere.
//
// Invariants (docs/invariants.md, connections): the queue holds the requests that are not answered yet, in order of
// arrival; what a request holds (credits, chunk, regions) is let go exactly once: by the writer when it took the request
// up to answer it, by complete when the connection was gone by then, else by teardown.
type conn struct {
	deps    *Deps
	name    string // in traces
	net     net.Conn
	client  *api.Client
	credits *kit.Credits
	active  atomic.Int64 // of the last read or write, as Deps.age
	// handling is the request that has its credits and is not yet its handler's alone; the reader's field.
	handling *pending
	turn     kit.Turn // the reader's
	// turning tells that the reader will look at the head of the queue before it waits for anything.
	turning atomic.Bool
	counted bool // among clients; guarded by deps.mu
	lent    bool // what turning was when the reader was about to block; the reader's field

	writing sync.Mutex // held by who gives out replies: the writer, or the reader when it finds it free
	writer  writer     // guarded by writing

	mu       sync.Mutex
	queue    []*pending
	head     int
	closed   bool // no more replies are sent
	draining bool // no more requests are read
	unsent   bool // replies left the queue that are not written yet
	// unordered tells that another node is at the other end: replies go out as they are ready (unordered.go).
	unordered bool
	// answering is the head of the queue while the writer makes its reply; the writer lets go of it.
	answering *pending
	wake      chan struct{} // to the writer: the head changed; capacity 1
	answered  *sync.Cond    // to the reader: the queue got shorter
}

// newConn makes the two halves' common ground; the listener starts them.
func newConn(d *Deps, nc net.Conn, client *api.Client) *conn {
	c := &conn{
		deps: d, net: nc, client: client, credits: kit.NewCredits(d.ConnectionBytes), wake: make(chan struct{}, 1),
		name: fmt.Sprintf("listeners/%s/%d", client.Listener, client.Connection),
	}
	c.answered = sync.NewCond(&c.mu)
	c.turn.Lender = c
	c.writer = writer{conn: c, now: socket.NewWriter(nc)}
	c.touch()
	return c
}

// touch keeps the connection from being closed as idle (connections.max.idle.ms).
func (c *conn) touch() { c.touchAt(c.deps.Node.Clock.Now()) }

func (c *conn) touchAt(now time.Time) { c.active.Store(int64(c.deps.age(now))) }

// complete takes a request's outcome and wakes the writer when it is that request's turn. A second outcome is dropped.
func (c *conn) complete(p *pending, set func()) {
	now := c.deps.Node.Clock.Now()
	c.mu.Lock()
	if p.state != working {
		c.mu.Unlock()
		return
	}
	set()
	p.answered = now.Sub(p.received)
	closed, first := c.closed, c.unordered || c.head < len(c.queue) && c.queue[c.head] == p
	c.mu.Unlock()
	if closed {
		if p.later != nil {
			p.later.Abandon()
		}
		c.letGo(p)
		return
	}
	if first && !c.turning.Load() {
		c.signal()
	}
}

// signal never blocks: one wake that waits is as good as many, since the writer looks at all there is.
func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// letGo gives back what a request holds.
func (c *conn) letGo(p *pending) {
	if p.chunk != nil {
		if !p.keepBytes.Load() {
			p.chunk.release()
		}
		p.chunk = nil
	}
	c.credits.Release(p.size)
	p.broker.Release(p.size)
	p.span.End()
}

// dropHandled ends the request that the reader panicked on. When its handler had it, an actor may have got a part of
// its bytes: they are left to the collector.
func (c *conn) dropHandled() {
	p := c.handling
	switch {
	case p == nil:
	case !p.admitted:
		c.letGo(p)
	default:
		p.KeepBytes()
		p.Hangup("its handler panicked")
	}
}

// read is the reader goroutine: it cuts frames, decodes them and hands requests to their handlers.
func (c *conn) read() {
	err := c.readRequests()
	c.endTurn()
	if reason := closeReason(err); reason != "" {
		c.deps.Log.Info("connection closed", "client", c.client.Host, "listener", c.client.Listener, "reason", reason)
	}
	c.mu.Lock()
	drain := c.draining
	c.mu.Unlock()
	if !drain {
		c.teardown()
	}
}

// closeReason is what is worth telling the operator; a peer that leaves is not.
func closeReason(err error) string {
	var netErr net.Error
	switch {
	case err == nil, errors.Is(err, errPeerGone), errors.Is(err, net.ErrClosed):
		return ""
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "closed by the peer within a request"
	case errors.As(err, &netErr):
		return ""
	}
	return err.Error()
}

// readRequests goes on until the peer leaves or a frame cannot be understood: then nothing behind it can be either.
func (c *conn) readRequests() error {
	src, err := newSource(c.net)
	if err != nil {
		return err
	}
	f := frames{src: src, limit: c.deps.RequestMax, waits: c.endTurn}
	defer f.drop()
	for {
		ch, body, err := f.next()
		if err != nil {
			return err
		}
		now := c.deps.Node.Clock.Now()
		c.touchAt(now)
		if err := c.request(ch, body, now); err != nil {
			return err
		}
	}
}

// request takes one frame through header, credits, order and decoding to its handler.
func (c *conn) request(ch *chunk, b []byte, now time.Time) error {
	h, body, err := frame.ParseRequestHeader(b)
	if err != nil {
		ch.release()
		return err
	}
	handler, err := c.handlerOf(h.Key, h.Version)
	if err != nil {
		ch.release()
		return err
	}
	p := &pending{
		conn: c, handler: handler, version: h.Version, correlation: h.CorrelationID,
		received: now, size: int64(len(b)), chunk: ch,
	}
	// Credits come before decoding, which takes several times the frame's memory.
	if err := c.acquire(p); err != nil {
		ch.release()
		return err
	}
	c.handling = p
	req, err := c.decode(p, &h, body)
	if err == nil && !c.admit(p) {
		err = net.ErrClosed
	}
	if err != nil {
		c.handling = nil
		c.letGo(p)
		return err
	}
	if p.stalled {
		p.waited = c.deps.Node.Clock.Now().Sub(p.received)
	}
	p.span.Admitted(p.received)
	c.turning.Store(true)
	c.deps.Node.Handle(req)
	c.handling = nil
	if p.handler.On == api.OnNodes && c.client.Peer != nil {
		c.introduced()
	}
	return nil
}

// acquire takes credits of the connection, then of the broker; both wait while too much is unanswered.
func (c *conn) acquire(p *pending) error {
	if err := c.acquireOf(c.credits, p); err != nil {
		return err
	}
	p.broker = c.broker(p)
	if err := c.acquireOf(p.broker, p); err != nil {
		c.credits.Release(p.size)
		return err
	}
	return nil
}

// acquireOf takes the credits of a request before anything else of it is kept. Who has to wait is marked: the reader reads
// no further meanwhile, and that is all the back-pressure a client feels.
func (c *conn) acquireOf(from *kit.Credits, p *pending) error {
	if from.TryAcquire(p.size) {
		return nil
	}
	c.endTurn() // gives credits back, perhaps
	p.stalled = true
	return from.Acquire(c.deps.Context, p.size)
}

// admit waits until no earlier request stands in p's way and puts p in the queue; false when the connection is gone.
func (c *conn) admit(p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && c.mustWait(p) {
		p.stalled = true
		if c.turning.Load() {
			c.mu.Unlock()
			c.endTurn()
			c.mu.Lock()
			continue
		}
		c.answered.Wait()
	}
	if c.closed {
		return false
	}
	c.queue = append(c.queue, p)
	p.admitted = true
	return true
}

// mustWait tells whether order or number forbids to go on. Requests of one key are few, so a walk beats a table.
func (c *conn) mustWait(p *pending) bool {
	open := c.queue[c.head:]
	if len(open) >= inFlightMax || c.unordered {
		return len(open) >= inFlightMax
	}
	for _, earlier := range open {
		if p.conflicts(earlier, c.deps.Node) {
			return true
		}
	}
	return false
}

// teardown ends the connection at once. What is still worked on lets go of what it holds when it completes.
func (c *conn) teardown() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	rest := c.queue[c.head:]
	c.queue, c.head = nil, 0
	var done []*pending
	for _, p := range rest {
		if p.state != working && p != c.answering {
			done = append(done, p)
		}
	}
	c.answered.Broadcast()
	c.mu.Unlock()
	_ = c.net.Close() // nothing written is lost: the peer gets no more
	c.signal()
	for _, p := range done {
		if p.later != nil {
			p.later.Abandon()
		}
		c.letGo(p)
	}
	c.deps.closed(c)
}

// drain answers what was read and then closes.
func (c *conn) drain() {
	c.mu.Lock()
	c.draining = true
	idle := c.head == len(c.queue) && !c.unsent
	c.mu.Unlock()
	_ = c.net.SetReadDeadline(time.Unix(1, 0)) // ends the reader's wait
	if idle {
		c.teardown()
		return
	}
	c.signal()
}
