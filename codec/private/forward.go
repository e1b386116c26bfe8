package private

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/flexible"
	"troupe/internal/model"
)

// Forward carries a request to the active controller's node, as Kafka's Envelope (KIP-590) does: a client may ask any
// broker. The answer says beside the reply how far the metadata has come there, so that the broker in between can wait for
// it and its client finds what it was told of.
type (
	// ForwardRequest has a request of Kafka's in the version that the client speaks.
	ForwardRequest struct {
		version
		RequestKey     int16
		RequestVersion int16
		Body           []byte
	}
	// ForwardResponse has the reply to it.
	ForwardResponse struct {
		version
		// ErrorCode is UNSUPPORTED_VERSION or INVALID_REQUEST of Kafka's codes where there is no reply, or 0.
		ErrorCode int16
		// Applied is the last offset of the metadata that the answering node has applied.
		Applied model.Offset
		Body    []byte
	}
)

func (r *ForwardRequest) layout(c *flexible.Coder) {
	c.Int16(&r.RequestKey)
	c.Int16(&r.RequestVersion)
	c.Bytes(&r.Body)
	c.Tags()
}

func (r *ForwardResponse) layout(c *flexible.Coder) {
	c.Int16(&r.ErrorCode)
	flexible.Int64(c, &r.Applied)
	c.Bytes(&r.Body)
	c.Tags()
}

// Key is part of kmsg.Request.
func (*ForwardRequest) Key() int16 { return ForwardKey }

// Key is part of kmsg.Response.
func (*ForwardResponse) Key() int16 { return ForwardKey }

// AppendTo is part of kmsg.Request.
func (r *ForwardRequest) AppendTo(dst []byte) []byte { return written(dst, r.layout) }

// AppendTo is part of kmsg.Response.
func (r *ForwardResponse) AppendTo(dst []byte) []byte { return written(dst, r.layout) }

// ReadFrom is part of kmsg.Request.
func (r *ForwardRequest) ReadFrom(b []byte) error { return read(b, "Forward request", r.layout) }

// ReadFrom is part of kmsg.Response.
func (r *ForwardResponse) ReadFrom(b []byte) error { return read(b, "Forward response", r.layout) }

// ResponseKind is part of kmsg.Request.
func (r *ForwardRequest) ResponseKind() kmsg.Response { return &ForwardResponse{version: r.version} }

// RequestKind is part of kmsg.Response.
func (r *ForwardResponse) RequestKind() kmsg.Request { return &ForwardRequest{version: r.version} }
