package peer

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
)

// Call is a request to another node. It is a message to the node's actor, by Directory.Send.
type Call struct {
	Link Link
	// Body is sent in the version that it has. It is not changed, and may be read until Done.
	Body kmsg.Request
	// Deadline is when the caller has no more use for an answer; zero is Deps.Timeout from now.
	Deadline time.Time
	// Done is called once, on an actor's goroutine, with a reply or an error: it hands it on and does not block. Byte
	// slices of the reply, such as record batches, lie in its frame, which is the reply's alone.
	Done func(kmsg.Response, error)
	// Turn is the caller's when the call is sent, and that of the node's actor in Done; nil lends nothing. It is good for
	// these moments alone.
	Turn *kit.Turn

	ended atomic.Bool
	// frame is that of the reply, for the transport that takes it back.
	frame []byte
	to    Recycler
}

// Recycle gives the memory of the reply back for replies to come: nothing that lies in its frame is read from then on. It may
// be called once, after Done, from any goroutine; where it is not, the collector takes the memory.
func (c *Call) Recycle() {
	if c.to != nil {
		c.to.Recycle(c.frame)
		c.frame, c.to = nil, nil
	}
}

// MessageKind is part of kit.Message.
func (*Call) MessageKind() string { return "peer.call" }

// Fail is part of kit.Failable.
func (c *Call) Fail(err error) { c.end(nil, err) }

// end gives the outcome; the first counts, so that a panic after it does no harm.
func (c *Call) end(resp kmsg.Response, err error) {
	if c.ended.CompareAndSwap(false, true) {
		c.Done(resp, err)
		c.Turn = nil
	}
}
