package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// reader is who fetches: a consumer, a tool that sees what is not committed too (-2), or a broker that follows.
type reader struct {
	id    int32
	epoch model.BrokerEpoch // of the broker's process; -1 when it is not known
	cause trace.Context
	// stranger is set for a broker that has not shaken hands as that one, stale for one of which a later process is registered,
	// or none yet: what they say of their logs is not to be believed.
	stranger, stale bool
	// takesFollowers is set for consumers that read from followers too (KIP-392), rack says where such a one is.
	takesFollowers bool
	rack           string
	client         *Client
}

// readerOf finds out who sends a fetch.
func (n *Node) readerOf(r *Request) reader {
	req := r.Body.(*kmsg.FetchRequest)
	who := reader{id: req.ReplicaID, epoch: -1, cause: r.Cause}
	if req.Version >= 15 { // KIP-903
		who.id, who.epoch = req.ReplicaState.ID, model.BrokerEpoch(req.ReplicaState.Epoch)
	}
	if !who.follows() {
		who.takesFollowers, who.rack, who.client = req.Version >= 11, req.Rack, r.Client
		return who
	}
	id := model.BrokerID(who.id)
	who.stranger = r.Client.Peer == nil || r.Client.Peer.NodeID != id
	if b, registered := n.Image().Broker(id); who.epoch != -1 {
		who.stale = !registered || who.epoch < b.Epoch
	}
	return who
}

func (r *reader) follows() bool { return r.id >= 0 }

// debugger is the replica id of tools that compare replicas, kafka-replica-verification among them: each replica gives them
// its own log, whoever leads, whichever epoch they name.
const debugger = -2

func (r *reader) compares() bool { return r.id == debugger }

// refused tells why a broker is not given what is not committed (facts/replication.md 11): it is no replica, as far as this
// leader knows, and told to ask again where the metadata of one of the two may be behind.
func (r *reader) refused(st *replica.Status, p *fetchPart) kerr.Code {
	switch {
	case !r.follows():
		return kerr.None
	case r.stale:
		return kerr.NotLeaderOrFollower
	case !r.stranger && slices.Contains(st.Replicas, model.BrokerID(r.id)):
		return kerr.None
	case p.leaderEpoch != model.NoLeaderEpoch:
		return kerr.UnknownLeaderEpoch
	}
	return kerr.NotLeaderOrFollower
}

// mark is what a reader waits for to move.
func (r *reader) mark(view *partitionlog.View) model.Offset {
	if r.follows() {
		return view.LogEnd
	}
	return view.HighWatermark
}

// stands tells the replica how far the follower's log has come: that moves the high watermark, whether or not there is more to
// be fetched. It is told once a request, after the logs were found to agree; of what a session's request does not name
// nothing has changed.
func (r *reader) stands(p *fetchPart) {
	p.handle.SendCaused(r.cause, &replica.FollowerFetch{
		Replica: model.BrokerID(r.id), Epoch: r.epoch, LeaderEpoch: p.leaderEpoch, Offset: p.offset, LogStart: p.toldLogStart,
	})
}

// late tells that a follower does not know the high watermark (KIP-1166). It is told at once, since what a follower takes over
// when it becomes the leader is what it knows.
func (r *reader) late(res *fetchResult) bool {
	return r.follows() && res.highWatermark > res.part.toldHighWatermark
}

// more tells that a partition has something that was not given.
func (res *fetchResult) more(r *reader) bool {
	if r.follows() {
		return res.view != nil && res.part.offset < res.view.LogEnd
	}
	return res.part.offset < res.highWatermark
}
