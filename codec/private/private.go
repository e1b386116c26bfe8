// Package private has the requests that only Troupe's nodes send each other, in the form of Kafka's own: each is a
// kmsg.Request with a kmsg.Response, is framed as those are, and is in the flexible encoding (KIP-482) from version 0 on, so
// that fields can be added as tagged ones. docs/formats/private-requests.md draws them.
//
// Decoding makes nothing larger than the bytes that it is given allow.
package private

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/flexible"
	"troupe/codec/frame"
)

// The API keys. Kafka's end below 100; those from frame.FirstPrivate on are Troupe's.
const (
	HelloKey int16 = frame.FirstPrivate + iota
	RaftKey
	ForwardKey
)

// TraceTag is the tagged field in the header of a request between nodes that carries the cause of a traced one
// (trace.Context). It is far above what Kafka gives out.
const TraceTag = 32000

// NewRequest gives an empty request of a key, nil for a key that is not here.
func NewRequest(key int16) kmsg.Request {
	switch key {
	case HelloKey:
		return &HelloRequest{}
	case RaftKey:
		return &RaftRequest{}
	case ForwardKey:
		return &ForwardRequest{}
	}
	return nil
}

// version is what all requests and responses here have in common. There is one version; growth is by tagged fields.
type version struct{ Version int16 }

// MaxVersion is part of kmsg.Request and kmsg.Response.
func (*version) MaxVersion() int16 { return 0 }

// SetVersion is part of kmsg.Request and kmsg.Response.
func (v *version) SetVersion(n int16) { v.Version = n }

// GetVersion is part of kmsg.Request and kmsg.Response.
func (v *version) GetVersion() int16 { return v.Version }

// IsFlexible is part of kmsg.Request and kmsg.Response.
func (*version) IsFlexible() bool { return true }

// read runs a layout over b, of which nothing may be left.
func read(b []byte, what string, layout func(*flexible.Coder)) error {
	c := flexible.Reader(b)
	layout(c)
	if bad := c.End(); bad != "" {
		return fmt.Errorf("malformed %s: %s", what, bad)
	}
	return nil
}

// written appends what a layout writes.
func written(dst []byte, layout func(*flexible.Coder)) []byte {
	c := flexible.Writer(dst)
	layout(c)
	return c.Buffer()
}
