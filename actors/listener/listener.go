// Package listener accepts connections and moves bytes: it cuts frames, keeps the order of requests and replies, holds
// the credits, and sends file regions. What a request means is package api's.
package listener

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/configs"
	"troupe/internal/vfs"
)

// Deps is what the listeners of a broker share.
type Deps struct {
	Node            *api.Node
	Log             *slog.Logger
	Trace           *trace.Tracer
	Context         context.Context // ends when the broker stops at once
	Credits         *kit.Credits    // bytes in flight of the broker
	NodeCredits     *kit.Credits    // the same of requests of other nodes; nil where there are none
	ConnectionBytes int64           // the same of one connection
	RequestMax      int             // socket.request.max.bytes
	IdleMax         time.Duration   // connections.max.idle.ms
	SendBuffer      int             // socket.send.buffer.bytes; -1 leaves the system's
	ReceiveBuffer   int
	Limits          func() *configs.Socket // as they are now: they may change while the broker runs
	Descriptors     *vfs.Descriptors
	// Observe is told of every answered request; it does not keep what it is given.
	Observe func(*api.Served)

	ids     atomic.Uint64
	mu      sync.Mutex
	born    sync.Once
	birth   time.Time       // ages count from here, by the monotonic clock
	stopped map[string]bool // listeners that take no more connections
	open    map[*conn]struct{}
	clients int // of those open
	perHost map[string]int
	leaving int           // connections of stopped listeners
	empty   chan struct{} // closed when the last of those is; nil while nobody waits
}

// age is the time since the first connection: a wall clock that is set makes nobody idle.
func (d *Deps) age(now time.Time) time.Duration {
	d.born.Do(func() { d.birth = now })
	return now.Sub(d.birth)
}

// enter counts a connection in, or says why there is no room for it.
func (d *Deps) enter(c *conn) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	host, limits := c.client.Host, d.Limits()
	// Clients that use up what they are allowed must not keep the controllers apart.
	bounded := !c.client.Controller
	switch {
	case d.stopped[c.client.Listener]:
		return "the broker stops"
	case bounded && d.clients >= int(limits.ConnectionsMax):
		return "max.connections is reached"
	case bounded && d.perHost[host] >= perAddressMax(limits, host):
		return "max.connections.per.ip is reached"
	case !d.Descriptors.Take(vfs.ShareConnections):
		return "the process's limit of open files leaves no room for more connections"
	}
	if d.open == nil {
		d.open, d.perHost = make(map[*conn]struct{}), make(map[string]int)
	}
	d.open[c] = struct{}{}
	if c.counted = bounded; bounded {
		d.clients++
		d.perHost[host]++
	}
	return ""
}

// uncount takes a connection out of what clients are allowed: it is closed, or another node is at its end.
func (d *Deps) uncount(c *conn) {
	if !c.counted {
		return
	}
	c.counted = false
	d.clients--
	if d.perHost[c.client.Host]--; d.perHost[c.client.Host] == 0 {
		delete(d.perHost, c.client.Host)
	}
}

func perAddressMax(l *configs.Socket, host string) int {
	if n, ok := l.PerAddress[host]; ok {
		return int(n)
	}
	return int(l.PerAddressMax)
}

// closed takes a connection off the books, once: reader and writer both end it, and a share given back twice would let the
// process run out of descriptors.
func (d *Deps) closed(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, there := d.open[c]; !there {
		return
	}
	delete(d.open, c)
	d.uncount(c)
	d.Descriptors.Give(vfs.ShareConnections)
	if d.stopped[c.client.Listener] {
		d.leaving--
	}
	if d.leaving == 0 && d.empty != nil {
		close(d.empty)
		d.empty = nil
	}
}

// Drained waits until every connection of the listeners that have stopped has answered what it had read and is closed.
func (d *Deps) Drained(ctx context.Context) error {
	for {
		d.mu.Lock()
		if d.leaving == 0 {
			d.mu.Unlock()
			return nil
		}
		if d.empty == nil {
			d.empty = make(chan struct{})
		}
		empty := d.empty
		d.mu.Unlock()
		select {
		case <-empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop refuses what a listener still accepts from now on, and gives the connections that it has.
func (d *Deps) stop(listener string) []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped == nil {
		d.stopped = make(map[string]bool)
	}
	d.stopped[listener] = true
	cs := d.of(listener)
	d.leaving += len(cs)
	return cs
}

// Cut closes every connection at once.
func (d *Deps) Cut() {
	d.mu.Lock()
	cs := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	for _, c := range cs {
		c.teardown()
	}
}

// all copies the open connections of one listener.
func (d *Deps) all(listener string) []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of(listener)
}

func (d *Deps) of(listener string) []*conn {
	var cs []*conn
	for c := range d.open {
		if c.client.Listener == listener {
			cs = append(cs, c)
		}
	}
	return cs
}

// guard runs a connection's goroutine: a panic there ends the connection, not the broker.
func (c *conn) guard(name string, run func()) {
	defer func() {
		if v := recover(); v != nil {
			c.deps.Log.Error("connection panicked", "goroutine", name, "client", c.client.Host, "panic", v, "stack", string(debug.Stack()))
			if name == readerName {
				c.turn.Leave()
				c.dropHandled()
			}
			c.teardown()
		}
	}()
	run()
}

const readerName, writerName = "reader", "writer"

// Actor is one listener: it owns the socket that was bound before, closes idle connections and drains at the end. It is
// the same instance in every incarnation.
type Actor struct {
	Deps       *Deps
	Name       string
	Controller bool
	Nodes      bool // other nodes come in here
	Socket     net.Listener

	accepting bool

	// refused belongs to the accepting goroutine: what was not logged yet, and when it last was.
	refused struct {
		count int
		told  time.Time
	}
}

type sweep struct{}

func (*sweep) MessageKind() string { return "listener.sweep" }

// Start begins to accept.
func (a *Actor) Start(ctx *kit.Context) {
	if !a.accepting {
		a.accepting = true
		go a.accept()
	}
	ctx.After(a.sweepEvery(), &sweep{})
}

// sweepEvery looks four times in the time allowed: a connection is closed at most a quarter late.
func (a *Actor) sweepEvery() time.Duration {
	return min(max(a.Deps.IdleMax/4, time.Second), time.Minute)
}

// Receive closes what was idle for too long. A connection of another node may be: its end is a sign that the node has died.
func (a *Actor) Receive(ctx *kit.Context, m kit.Message) {
	if _, ok := m.(*sweep); !ok {
		return
	}
	if a.Deps.IdleMax <= 0 { // never
		return
	}
	before := a.Deps.age(ctx.Now()) - a.Deps.IdleMax
	for _, c := range a.Deps.all(a.Name) {
		if time.Duration(c.active.Load()) < before && !c.anyOrder() {
			c.teardown()
		}
	}
	ctx.After(a.sweepEvery(), &sweep{})
}

// Drain stops accepting and lets every connection answer what it has read.
func (a *Actor) Drain(ctx *kit.Context) {
	_ = a.Socket.Close() // only stops accepting
	for _, c := range a.Deps.stop(a.Name) {
		c.drain()
	}
	ctx.Drained()
}

// accept is the listener's goroutine; it ends with the socket.
func (a *Actor) accept() {
	pause := 5 * time.Millisecond
	var due time.Time
	for {
		nc, err := a.Socket.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, or the peer left already
			a.Deps.Log.Warn("accept failed", "listener", a.Name, "err", err)
			select {
			case <-time.After(pause):
			case <-a.Deps.Context.Done():
				return
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		a.serve(nc)
		due = a.awaitTurn(due)
	}
}

// awaitTurn holds the next accept back when connections come faster than the rate allows, but for one second's worth at
// once; due is when all accepted so far would have come at the steady rate.
func (a *Actor) awaitTurn(due time.Time) time.Time {
	now := time.Now()
	if due.Before(now.Add(-time.Second)) {
		due = now.Add(-time.Second)
	}
	due = due.Add(time.Second / time.Duration(max(a.Deps.Limits().CreationRate, 1)))
	if wait := due.Sub(now); wait > 0 {
		select {
		case <-time.After(wait):
		case <-a.Deps.Context.Done():
		}
	}
	return due
}

// refuse logs refused connections, at most once a second: who refuses thousands must not drown in saying so.
func (a *Actor) refuse(host, why string) {
	a.refused.count++
	if now := time.Now(); now.Sub(a.refused.told) >= time.Second {
		a.Deps.Log.Warn("connections refused", "listener", a.Name, "count", a.refused.count, "last", host, "reason", why)
		a.refused.count, a.refused.told = 0, now
	}
}

// serve gives a connection its two goroutines, unless a limit refuses it.
func (a *Actor) serve(nc net.Conn) {
	host, _, _ := net.SplitHostPort(nc.RemoteAddr().String())
	c := newConn(a.Deps, nc, &api.Client{
		Connection: a.Deps.ids.Add(1), Listener: a.Name, Controller: a.Controller, Nodes: a.Nodes,
		Principal: "User:ANONYMOUS", Host: host,
	})
	if why := a.Deps.enter(c); why != "" {
		a.refuse(host, why)
		_ = nc.Close() // nothing was written
		return
	}
	a.tune(nc)
	go c.guard(readerName, c.read)
	go c.guard(writerName, c.write)
}

// tune sets the sockets' buffers; the system may give other sizes, and -1 leaves them to it.
func (a *Actor) tune(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	if n := a.Deps.SendBuffer; n > 0 {
		_ = tcp.SetWriteBuffer(n) // a hint
	}
	if n := a.Deps.ReceiveBuffer; n > 0 {
		_ = tcp.SetReadBuffer(n) // a hint
	}
}
