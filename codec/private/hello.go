package private

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/flexible"
	"troupe/internal/model"
)

// Identity is what a node says of itself before anything else.
type Identity struct {
	// ClusterID is empty while the node belongs to no cluster yet.
	ClusterID string
	NodeID    model.BrokerID
	// Directory is the id of the directory with the metadata log: a node whose disk was wiped is another voter.
	Directory model.DirectoryID
	// Incarnation tells two processes with one node id apart.
	Incarnation model.UUID
	// MinVersion and MaxVersion are the versions of the traffic between nodes that this node speaks.
	MinVersion, MaxVersion int16
}

// Hello is the handshake: the first request on every connection between nodes.
type (
	// HelloRequest introduces the node that connected.
	HelloRequest struct {
		version
		Node Identity
	}
	// HelloResponse introduces the node that answers. It is filled in for a node that is refused too, so that the refused
	// one can say whom it met.
	HelloResponse struct {
		version
		// ErrorCode is a code of Kafka's: INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION, UNSUPPORTED_VERSION.
		ErrorCode int16
		// Message names both nodes where ErrorCode is not 0.
		Message *string
		Node    Identity
		// Founding is what a node tells that belongs to no cluster yet; nil for all others.
		Founding *Founding
	}
)

// Founding is how far a node has come with others towards a new cluster (package founding). Sets of voters are in the
// encoding of the metadata log's KRAFT_VOTERS record.
type Founding struct {
	// Voter is the node itself.
	Voter []byte
	// ClusterID, Proposer and Voters are what it has accepted; ClusterID is empty for nothing.
	ClusterID string
	Proposer  model.BrokerID
	Voters    []byte
}

func (f *Founding) fields(c *flexible.Coder) {
	c.Bytes(&f.Voter)
	c.String(&f.ClusterID)
	flexible.Int32(c, &f.Proposer)
	c.Bytes(&f.Voters)
	c.Tags()
}

func (i *Identity) fields(c *flexible.Coder) {
	c.String(&i.ClusterID)
	flexible.Int32(c, &i.NodeID)
	c.UUID(&i.Directory)
	c.UUID(&i.Incarnation)
	c.Int16(&i.MinVersion)
	c.Int16(&i.MaxVersion)
}

func (r *HelloRequest) layout(c *flexible.Coder) {
	r.Node.fields(c)
	c.Tags()
}

func (r *HelloResponse) layout(c *flexible.Coder) {
	c.Int16(&r.ErrorCode)
	c.NullableString(&r.Message)
	r.Node.fields(c)
	c.Tags(flexible.Tag(0, r.Founding != nil, func() {
		if r.Founding == nil {
			r.Founding = &Founding{}
		}
		r.Founding.fields(c)
	}))
}

// Key is part of kmsg.Request.
func (*HelloRequest) Key() int16 { return HelloKey }

// Key is part of kmsg.Response.
func (*HelloResponse) Key() int16 { return HelloKey }

// AppendTo is part of kmsg.Request.
func (r *HelloRequest) AppendTo(dst []byte) []byte { return written(dst, r.layout) }

// AppendTo is part of kmsg.Response.
func (r *HelloResponse) AppendTo(dst []byte) []byte { return written(dst, r.layout) }

// ReadFrom is part of kmsg.Request.
func (r *HelloRequest) ReadFrom(b []byte) error { return read(b, "Hello request", r.layout) }

// ReadFrom is part of kmsg.Response.
func (r *HelloResponse) ReadFrom(b []byte) error { return read(b, "Hello response", r.layout) }

// ResponseKind is part of kmsg.Request.
func (r *HelloRequest) ResponseKind() kmsg.Response { return &HelloResponse{version: r.version} }

// RequestKind is part of kmsg.Response.
func (r *HelloResponse) RequestKind() kmsg.Request { return &HelloRequest{version: r.version} }
