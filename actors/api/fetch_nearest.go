package api

import (
	"cmp"
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

// nearest picks a replica in the consumer's rack, as Kafka's RackAwareReplicaSelector does: one that is in sync and whose log
// holds the offset. A leader in that rack keeps its consumers, and a follower sends nobody on.
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
	var near []replica.Copy
	for _, c := range h.Copies() {
		b, ok := i.Broker(c.ID)
		if !ok || !b.Active() || b.Rack == nil || *b.Rack != who.rack || !slices.Contains(part.ISR, c.ID) {
			continue
		}
		if _, reached := b.Endpoint(who.client.Listener); reached && c.LogStart <= p.offset && p.offset <= c.End {
			near = append(near, c)
		}
	}
	if len(near) == 0 {
		return nearer{}
	}
	return nearer{slices.MaxFunc(near, moreCaughtUp).ID, true}
}

// moreCaughtUp is Kafka's order of replicas: by the end of the log, then by who last had everything, then by id.
func moreCaughtUp(a, b replica.Copy) int {
	return cmp.Or(cmp.Compare(a.End, b.End), a.CaughtUp.Compare(b.CaughtUp), cmp.Compare(a.ID, b.ID))
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
