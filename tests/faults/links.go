//go:build interop && unix

package faults

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"troupe/codec/frame"
	"troupe/codec/private"
)

// Links are the connections between the nodes of a cluster: each listener that nodes reach has a proxy before it. A connection
// begins with a Hello that names the node which dialed, so that a link is known by its two ends, whoever dialed.
//
// What is cut is lost as packets are that no router delivers: nothing passes, not even the end of a connection, and
// whoever waits is told nothing. What was on its way passes when the link is whole again, as TCP would send it again.
type Links struct {
	mu      sync.Mutex
	bad     map[way]quality
	changed chan struct{} // closed and replaced when bad changes
	done    chan struct{} // closed at the end of the test
	running sync.WaitGroup
	ends    map[net.Conn]bool // open connections
}

// way is a link in one direction.
type way struct{ from, to int32 }

// quality is what is wrong with a link in one direction.
type quality struct {
	cut  bool
	rate int // bytes a second that pass; 0 is all
}

func newLinks(t testing.TB) *Links {
	l := &Links{bad: map[way]quality{}, changed: make(chan struct{}), done: make(chan struct{}), ends: map[net.Conn]bool{}}
	t.Cleanup(func() {
		close(l.done)
		l.mu.Lock()
		for c := range l.ends {
			c.Close()
		}
		l.mu.Unlock()
		l.running.Wait()
	})
	return l
}

// Through puts a proxy before a listener of a node and gives its address.
func (l *Links) Through(t testing.TB, id int32, listener string) string {
	t.Helper()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.running.Go(func() {
		<-l.done
		door.Close()
	})
	l.running.Go(func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.connect(c, id, listener) })
		}
	})
	return door.Addr().String()
}

// Cut stops what goes from some nodes to others.
func (l *Links) Cut(from, to []int32) { l.set(from, to, quality{cut: true}) }

// Slow lets so many bytes a second pass, on each connection.
func (l *Links) Slow(from, to []int32, rate int) { l.set(from, to, quality{rate: rate}) }

func (l *Links) set(from, to []int32, q quality) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range from {
		for _, b := range to {
			if a != b {
				l.bad[way{a, b}] = q
			}
		}
	}
	l.tell()
}

// Heal makes all links whole.
func (l *Links) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.bad)
	l.tell()
}

func (l *Links) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// pass waits until something may go that way, and tells how fast. It is false at the end of the test.
func (l *Links) pass(w way) (rate int, ok bool) {
	for {
		l.mu.Lock()
		q, changed := l.bad[w], l.changed
		l.mu.Unlock()
		if !q.cut {
			return q.rate, true
		}
		select {
		case <-changed:
		case <-l.done:
			return 0, false
		}
	}
}

// connect serves one connection that was dialed to a node.
func (l *Links) connect(dialed net.Conn, to int32, listener string) {
	defer l.hold(dialed)()
	hello, from, err := readHello(dialed)
	if err != nil {
		return
	}
	if _, ok := l.pass(way{from, to}); !ok {
		return
	}
	served, err := net.Dial("tcp", listener)
	if err != nil {
		l.pass(way{to, from}) // the refusal is a packet too
		return
	}
	defer l.hold(served)()
	if _, err := served.Write(hello); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(dialed, served, way{from, to}) })
	both.Go(func() { l.carry(served, dialed, way{to, from}) })
	both.Wait()
}

// hold remembers a connection, so that it ends with the test, until the function that it gives is called.
func (l *Links) hold(c net.Conn) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[c] = true
	select {
	case <-l.done: // the sweep over ends may be past
		c.Close()
	default:
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.ends, c)
		c.Close()
	}
}

// carry brings bytes and the end of a connection one way.
func (l *Links) carry(src, dst net.Conn, w way) {
	buffer := make([]byte, 64<<10)
	for {
		n, readErr := src.Read(buffer)
		rate, ok := l.pass(w)
		if !ok {
			return
		}
		if err := l.deliver(dst, buffer[:n], rate); err != nil {
			// The receiver is gone. Its reset travels back, when it can.
			if _, ok := l.pass(way{w.to, w.from}); ok {
				src.Close()
			}
			return
		}
		if readErr != nil {
			// A process that ended left nothing half open.
			dst.Close()
			return
		}
	}
}

// deliver writes at a rate, in pieces, as a narrow link would.
func (l *Links) deliver(dst net.Conn, b []byte, rate int) error {
	const pieces = 20 // a second
	for rate > 0 && len(b) > 0 {
		n := min(len(b), max(1, rate/pieces))
		select {
		case <-time.After(time.Duration(n) * time.Second / time.Duration(rate)):
		case <-l.done:
			return net.ErrClosed
		}
		if _, err := dst.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	_, err := dst.Write(b)
	return err
}

var errNoHello = errors.New("the first frame of a connection is not a Hello")

// readHello reads the first frame of a connection between nodes and who sent it.
func readHello(c net.Conn) (whole []byte, from int32, err error) {
	size := make([]byte, frame.SizeLen)
	if _, err := io.ReadFull(c, size); err != nil {
		return nil, 0, err
	}
	n := binary.BigEndian.Uint32(size)
	if n > 1<<20 {
		return nil, 0, errNoHello
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c, body); err != nil {
		return nil, 0, err
	}
	header, rest, err := frame.ParseRequestHeader(body)
	if err != nil {
		return nil, 0, err
	}
	if header.Key != private.HelloKey {
		return nil, 0, errNoHello
	}
	var hello private.HelloRequest
	if err := hello.ReadFrom(rest); err != nil {
		return nil, 0, err
	}
	return append(size, body...), int32(hello.Node.NodeID), nil
}
