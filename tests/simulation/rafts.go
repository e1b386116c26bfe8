package simulation

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"troupe/codec/frame"
	"troupe/codec/private"
	"troupe/internal/model"
)

// raftCheck: a vote is durable before it leaves (invariant M10). It reads what the sender's disk would hold after a power cut
// now, whether or not the power is ever cut at that moment. The term of an acknowledgement may be in the log alone.
type raftCheck struct{ world *World }

// sent looks at a request that a node sends to another one.
func (c *raftCheck) sent(h *host, b []byte) {
	if int16(binary.BigEndian.Uint16(b)) != private.RaftKey {
		return
	}
	_, body, err := frame.ParseRequestHeader(b)
	req := &private.RaftRequest{}
	if err = errors.Join(err, req.ReadFrom(body)); err != nil {
		c.world.fail("node %d sends a raft request that cannot be read: %w", h.id, err)
		return
	}
	for _, payload := range req.Messages {
		var m raftpb.Message
		if err := proto.Unmarshal(payload, &m); err != nil {
			c.world.fail("node %d sends a raft message that cannot be read: %w", h.id, err)
			return
		}
		if m.GetType() == raftpb.MsgVoteResp && !m.GetReject() {
			c.voted(h, req.ToID, m.GetTerm())
		}
	}
}

// quorumState is where a node's term and vote stand (KIP-595).
const quorumState = "__cluster_metadata-0/quorum-state"

// voted holds a vote against the disk.
func (c *raftCheck) voted(h *host, candidate model.BrokerID, term uint64) {
	var disk struct {
		Epoch uint64         `json:"leaderEpoch"`
		Voted model.BrokerID `json:"votedId"`
	}
	if b := h.durable(quorumState); b != nil {
		if err := json.Unmarshal(b, &disk); err != nil {
			c.world.fail("node %d: %s: %w", h.id, quorumState, err)
			return
		}
	}
	switch {
	case disk.Epoch < term:
		c.world.fail("node %d votes for %d in term %d, and its disk knows of term %d", h.id, candidate, term, disk.Epoch)
	case disk.Epoch == term && disk.Voted != candidate:
		c.world.fail("node %d votes for %d in term %d, and its disk says %d", h.id, candidate, term, disk.Voted)
	}
}
