package private

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/flexible"
	"troupe/internal/model"
)

// Raft carries messages of the metadata quorum from one voter to another. The answer says only that they were taken: what
// raft answers are messages of their own.
type (
	// RaftRequest names both voters with their directories. One that is for another voter than the node that gets it is
	// refused, since it was meant for a disk that is gone.
	RaftRequest struct {
		version
		FromID        model.BrokerID
		FromDirectory model.DirectoryID
		ToID          model.BrokerID
		ToDirectory   model.DirectoryID
		// Messages are in raft's own encoding, in the order in which they were sent. Decoded ones lie in the frame.
		Messages [][]byte
	}
	// RaftResponse has no more than a code.
	RaftResponse struct {
		version
		// ErrorCode is INVALID_VOTER_KEY of Kafka's codes, or 0.
		ErrorCode int16
	}
)

func (r *RaftRequest) layout(c *flexible.Coder) {
	flexible.Int32(c, &r.FromID)
	c.UUID(&r.FromDirectory)
	flexible.Int32(c, &r.ToID)
	c.UUID(&r.ToDirectory)
	// The least message is a length alone.
	flexible.Array(c, &r.Messages, false, 1, c.BytesInPlace)
	c.Tags()
}

func (r *RaftResponse) layout(c *flexible.Coder) {
	c.Int16(&r.ErrorCode)
	c.Tags()
}

// Key is part of kmsg.Request.
func (*RaftRequest) Key() int16 { return RaftKey }

// Key is part of kmsg.Response.
func (*RaftResponse) Key() int16 { return RaftKey }

// AppendTo is part of kmsg.Request.
func (r *RaftRequest) AppendTo(dst []byte) []byte { return written(dst, r.layout) }

// AppendTo is part of kmsg.Response.
func (r *RaftResponse) AppendTo(dst []byte) []byte { return written(dst, r.layout) }

// ReadFrom is part of kmsg.Request.
func (r *RaftRequest) ReadFrom(b []byte) error { return read(b, "Raft request", r.layout) }

// ReadFrom is part of kmsg.Response.
func (r *RaftResponse) ReadFrom(b []byte) error { return read(b, "Raft response", r.layout) }

// ResponseKind is part of kmsg.Request.
func (r *RaftRequest) ResponseKind() kmsg.Response { return &RaftResponse{version: r.version} }

// RequestKind is part of kmsg.Response.
func (r *RaftResponse) RequestKind() kmsg.Request { return &RaftRequest{version: r.version} }
