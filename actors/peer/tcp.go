package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"syscall"

	"troupe/actors/kit"
	"troupe/codec/frame"
	"troupe/internal/socket"
)

// TCP is the Transport between processes.
type TCP struct {
	Log *slog.Logger
	// FrameMax bounds a reply, in bytes.
	FrameMax int

	frames frames
}

// Recycle is part of Recycler.
func (t *TCP) Recycle(frame []byte) { t.frames.give(frame) }

const (
	// readBuffer holds small replies, several a system call. Larger ones are read into their own frame.
	readBuffer = 16 << 10
	// firstMax bounds the first frame: whoever answers has not said yet who it is.
	firstMax = 16 << 10
)

// Dial is part of Transport.
func (t *TCP) Dial(to Address, e Events) Conn {
	ctx, cancel := context.WithCancel(context.Background())
	c := &tcpConn{transport: t, cancel: cancel, written: make(chan struct{})}
	c.more = sync.NewCond(&c.mu)
	go c.run(ctx, to, e)
	return c
}

// tcpConn is a connection with a goroutine that dials and reads, and one that writes what the socket does not take at once.
type tcpConn struct {
	transport *TCP
	cancel    context.CancelFunc
	written   chan struct{} // closed when the writer has ended
	// turn is the reader's: whom a frame wakes is run by it (docs/adr/0018), but for lanes. A directory that is slow must not
	// hold up what is for others.
	turn kit.Turn

	mu     sync.Mutex
	more   *sync.Cond
	net    net.Conn       // nil until it is open
	now    *socket.Writer // nil until then, and where a socket would make the caller wait
	queue  net.Buffers
	busy   bool // the writer goroutine has taken a queue that is not written yet
	closed bool
}

// Write is part of Conn. An error is left to the writer, who meets it too.
func (c *tcpConn) Write(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.now != nil && !c.busy && len(c.queue) == 0 {
		if n, err := c.now.Write(b); err == nil {
			b = b[n:]
		}
		if len(b) == 0 {
			return
		}
	}
	c.queue = append(c.queue, b)
	c.more.Signal()
}

// Close is part of Conn.
func (c *tcpConn) Close() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.queue = nil
	if c.net != nil {
		_ = c.net.Close() // what was not sent is given up
	}
	c.more.Signal()
}

// run is the goroutine of the connection's life.
func (c *tcpConn) run(ctx context.Context, to Address, e Events) {
	err := c.guard("reader", func() error { return c.live(ctx, to, e) })
	c.Close()
	<-c.written
	e.Closed(err)
}

// live dials, then reads until the connection ends. It starts the writer, or says that there is none.
func (c *tcpConn) live(ctx context.Context, to Address, e Events) error {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
	if err == nil && !c.adopt(nc) {
		_ = nc.Close() // nothing was written
		err = net.ErrClosed
	}
	if err != nil {
		close(c.written)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return ErrRefused
		}
		return err
	}
	go c.write(nc)
	e.Opened()
	return c.read(nc, e)
}

// adopt takes the open connection unless Close came first.
func (c *tcpConn) adopt(nc net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.net, c.now = nc, socket.NewWriter(nc)
	return true
}

// read cuts frames. Each is read into memory of its own and of its own size, where it stays: what a reply brings is not
// copied again.
func (c *tcpConn) read(nc net.Conn, e Events) error {
	defer c.turn.Leave()
	in := bufio.NewReaderSize(attentive{&c.turn, socket.NewReader(nc)}, readBuffer)
	var size [frame.SizeLen]byte
	for limit := firstMax; ; limit = c.transport.FrameMax {
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return err
		}
		n, err := frame.Size(size[:], limit)
		if err != nil {
			return err
		}
		b := c.transport.frames.take(n)
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		e.Received(&c.turn, b)
	}
}

// attentive sees to what has been read before it may wait for more.
type attentive struct {
	turn *kit.Turn
	from io.Reader
}

// Read is part of io.Reader.
func (a attentive) Read(b []byte) (int, error) {
	a.turn.Finish()
	return a.from.Read(b)
}

// write is the writer goroutine: what has gathered meanwhile goes out by one vectored write.
func (c *tcpConn) write(nc net.Conn) {
	defer close(c.written)
	_ = c.guard("writer", func() error {
		for {
			out := c.next()
			if out == nil {
				return nil
			}
			if _, err := out.WriteTo(nc); err != nil {
				return nc.Close() // the reader tells of the end
			}
		}
	})
}

// next waits for frames; nil when the connection is closed.
func (c *tcpConn) next() net.Buffers {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	for len(c.queue) == 0 && !c.closed {
		c.more.Wait()
	}
	out := c.queue
	c.queue, c.busy = nil, true
	return out
}

// guard runs a goroutine of the connection: a panic there ends the connection, not the broker.
func (c *tcpConn) guard(name string, run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.transport.Log.Error("connection panicked", "goroutine", name, "panic", v, "stack", string(debug.Stack()))
			c.Close()
			err = fmt.Errorf("%s panicked: %v", name, v)
		}
	}()
	return run()
}
