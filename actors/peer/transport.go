package peer

import (
	"errors"

	"troupe/actors/kit"
)

// Transport makes connections that carry frames: TCP, or what a test puts in its place.
type Transport interface {
	// Dial returns at once. What becomes of the connection is told to e later, in order, one call at a time, never from
	// within Dial.
	Dial(to Address, e Events) Conn
}

// Conn is a connection, from the moment that it is dialed.
type Conn interface {
	// Write takes a frame, which begins with its size, and sends it after those before it. It never blocks: the queue is
	// bounded by the calls in flight. What is written to a connection that is closed is lost.
	Write(frame []byte)
	// Close ends the connection or the dialing, at once. It may be called more than once.
	Close()
}

// Events is told what becomes of a connection.
type Events interface {
	// Opened comes first, unless the dial fails.
	Opened()
	// Received gives a frame without its size. It is the receiver's from then on. The turn, which may be nil, is that of the
	// goroutine that has read it.
	Received(t *kit.Turn, frame []byte)
	// Closed comes last, once, also after Conn.Close. The error is ErrRefused when the dial was refused.
	Closed(err error)
}

// ErrRefused says that nobody listens at the address: the machine answered that, so it is there.
var ErrRefused = errors.New("connection refused")
