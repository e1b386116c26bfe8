// Package api answers requests: one file an API key, with its versions, ordering key, operation and errors at the top.
// The table of handlers is the coverage table; ApiVersions is made from it, so nothing is advertised that is not here.
package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/codec/private"
)

// Client is what is known of a connection. It is fixed when the connection opens, but for Peer.
type Client struct {
	Connection uint64 // unique in this process
	Listener   string // its name, as in listeners=
	Controller bool   // the listener is one of controller.listener.names
	Nodes      bool   // other nodes come in there: it is a controllers' listener, or the one between brokers
	Principal  string // "User:ANONYMOUS" without authentication
	Host       string // the client's address
	// Peer is the node at the other end, nil for a client. Hello sets it, on the connection's reader, before any request
	// that comes after it.
	Peer *private.Identity
}

// listener gives the kinds of the listener that the client came in on.
func (c *Client) listener() Listeners {
	on := OnBroker
	if c.Controller {
		on = OnController
	}
	if c.Nodes {
		on |= OnNodes
	}
	return on
}

// Arrival is what the connection knows of a request.
type Arrival struct {
	Handler *Handler
	Version int16
	// Unsupported marks an ApiVersions request of an unknown version, which is answered in the form of version 0.
	Unsupported bool
	ClientID    string
	Body        kmsg.Request
	Client      *Client
	Received    time.Time
	Cause       trace.Context // of the messages that the request leads to
	Slot        Slot
	// Turn runs what the handler wakes, on the connection's goroutine when it has no more to read; nil for none. It is the
	// handler's only until that returns.
	Turn *kit.Turn
}

// Request is one decoded request on its way through a handler. Exactly one of the reply calls is made, from any
// goroutine; the connection gives replies out in request order.
type Request struct {
	Arrival
}

// Slot is the place of a request's reply in the order of its connection.
type Slot interface {
	// Ready gives the reply; the connection encodes it when its turn comes.
	Ready(Body)
	// ReadyLater gives a reply that is made when its turn has come and it can be.
	ReadyLater(Deferred)
	// Nothing ends a request that gets no reply (acks=0).
	Nothing()
	// Hangup closes the connection after the replies before this one.
	Hangup(reason string)
	// KeepBytes says, before the request is answered, that its frame may be read after that: by a disk lane that has
	// not come to a write whose producer was sent away. The frame is not used again then.
	KeepBytes()
}

// Deferred is a reply that may have to wait: a long poll. The connection's writer polls it when its turn has come,
// again after each wake, and a last time at the deadline.
type Deferred interface {
	// Poll gives the reply, or false to wait. At the deadline last is true and the answer must be true. wake may be
	// called at any time, from any goroutine, and leads to another Poll. Actors that are asked something are run on the turn,
	// if it is not nil, when Poll has returned.
	Poll(t *kit.Turn, last bool, wake kit.Errand) (*Payload, bool)
	// Deadline is when the wait ends.
	Deadline() time.Time
	// Abandon releases what Poll holds when the connection is gone.
	Abandon()
}

// Wake makes an errand of a function that only wakes somebody, for connections that do nothing on others' turns.
func Wake(f func()) kit.Errand { return &wake{f} }

type wake struct{ call func() }

func (w *wake) Here(*kit.Turn) { w.call() }
func (w *wake) Elsewhere()     { w.call() }

// NewRequest makes the request that a handler gets.
func NewRequest(a Arrival) *Request { return &Request{a} }

// Reply answers with a body of the request's version; a kmsg.Response is one.
func (r *Request) Reply(b Body) { r.Slot.Ready(b) }

// ReplyLater answers by a reply that may wait.
func (r *Request) ReplyLater(d Deferred) { r.Slot.ReadyLater(d) }

// NoReply ends a request that asked for no answer.
func (r *Request) NoReply() { r.Slot.Nothing() }

// Hangup closes the connection, which is Kafka's answer where a reply cannot carry an error.
func (r *Request) Hangup(reason string) { r.Slot.Hangup(reason) }

// Body is a reply body that encodes itself on the connection's writer; every kmsg.Response is one.
type Body interface {
	AppendTo(dst []byte) []byte
}
