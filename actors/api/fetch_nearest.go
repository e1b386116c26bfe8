package api

import (
	"slices"

	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// nearer is a replica that a consumer is sent to instead of the leader (KIP-392).
type nearer struct {
	id    model.BrokerID
	found bool
}

// nearest picks a replica in the consumer's rack: one that is in sync, and so has all that a consumer may read. A leader in
// that rack keeps its consumers, and a follower sends nobody on. The first in the order of the replicas is taken, which
// differs from partition to partition.
func (n *Node) nearest(h *replica.Handle, p *fetchPart, who *reader, view *partitionlog.View) nearer {
	if who.rack == "" || n.Config.Replication.Selector != configs.RackAwareSelector || who.rack == n.Config.Rack ||
		!h.Status().Leader || p.offset < view.LogStart || p.offset > view.HighWatermark {
		return nearer{}
	}
	i := n.Image()
	part, ok := i.Partition(h.TP)
	if !ok {
		return nearer{}
	}
	for _, id := range part.Replicas {
		b, ok := i.Broker(id)
		if !ok || id == n.ID || !b.Active() || b.Rack == nil || *b.Rack != who.rack || !slices.Contains(part.ISR, id) {
			continue
		}
		if _, reached := b.Endpoint(who.client.Listener); reached {
			return nearer{id, true}
		}
	}
	return nearer{}
}

// copyView gives the view of a follower's log, which consumers may read as far as it knows it to be committed, if they name the
// present leader epoch: they know then that this is not the leader. One that does not name it, and may take this replica for
// the leader, would lose its place where the follower's log is shorter (OFFSET_OUT_OF_RANGE). So it would at a replica that
// follows nobody: the metadata may name this broker as the leader of that epoch, for what its process before this one had.
func copyView(h *replica.Handle) (*partitionlog.View, kerr.Code) {
	st, view := h.Status(), h.View()
	if !st.Online || !st.Follower || view == nil {
		return nil, kerr.NotLeaderOrFollower
	}
	return view, kerr.None
}
