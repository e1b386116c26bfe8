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

// readsCopy tells who may read from a replica that does not lead: a tool that compares replicas, and a consumer that knows
// that it is one, since it names the present leader epoch or its rack. librdkafka before 2.1 names no epoch, and stays for
// minutes with the replica that it was sent to. Who names neither takes this replica for the leader.
func (r *reader) readsCopy(p *fetchPart) bool {
	return r.compares() || r.takesFollowers && (p.leaderEpoch != model.NoLeaderEpoch || r.rack != "")
}

// copyView gives the view of a follower's log, which consumers may read as far as it knows it to be committed. To one that
// names no epoch the metadata of an earlier one may still show this replica as the leader: beyond a log that is shorter now it
// would lose its place by OFFSET_OUT_OF_RANGE, and goes to the leader instead. So it would at a replica that follows nobody:
// the metadata may name this broker as the leader of the present epoch, for what its process before this one had.
func (r *reader) copyView(h *replica.Handle, p *fetchPart) (*partitionlog.View, kerr.Code) {
	st, view := h.Status(), h.View()
	switch {
	case !st.Online || !st.Follower || view == nil:
		return nil, kerr.NotLeaderOrFollower
	case !r.compares() && p.leaderEpoch == model.NoLeaderEpoch && p.offset > view.LogEnd:
		return nil, kerr.OffsetNotAvailable
	}
	return view, kerr.None
}
