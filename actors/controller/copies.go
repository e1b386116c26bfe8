package controller

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// copies are the copies of the metadata log that a leader hears of, voters' and observers', in the order in which they
// were first heard of.
type copies struct {
	list []*logCopy
	// waiting are fetches that have had everything.
	waiting []*Fetch
}

// logCopy is one of them.
type logCopy struct {
	key quorum.VoterKey
	// end is the offset that an observer fetches from; that of a voter is raft's to know.
	end      model.Offset
	fetched  time.Time
	caughtUp time.Time // when it last had all that there was
	observes bool
	// leaderEnd is where the log ended when a voter was last heard.
	leaderEnd model.Offset
}

// heard notes that a voter sent something, and how far it had come then. Whoever has what there was when it was heard before
// had all at that time (Kafka's rule).
func (r *logCopy) heard(end, leaderEnd model.Offset, now time.Time) {
	switch {
	case end >= leaderEnd:
		r.caughtUp = now
	case r.leaderEnd > 0 && end >= r.leaderEnd && r.fetched.After(r.caughtUp):
		r.caughtUp = r.fetched
	}
	r.fetched, r.leaderEnd = now, leaderEnd
}

// of finds a copy, or begins one.
func (c *copies) of(k quorum.VoterKey) *logCopy {
	for _, r := range c.list {
		if r.key == k {
			return r
		}
	}
	r := &logCopy{key: k, end: model.NoOffset}
	c.list = append(c.list, r)
	return r
}

// observers counts those that fetch.
func (c *copies) observers() int {
	n := 0
	for _, r := range c.list {
		if r.observes {
			n++
		}
	}
	return n
}

// describe answers DescribeQuorum (KIP-595, KIP-836, KIP-853) as the leader knows it. It tells nodes only beside a partition
// that it knows, and an empty message where Kafka's codes have none (measured on Kafka 4.3.1).
func (a *Actor) describe(ctx *kit.Context, req *kmsg.DescribeQuorumRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.SetVersion(req.GetVersion())
	resp.ErrorMessage = kmsg.StringPtr("")
	told := false
	for _, asked := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = asked.Topic
		for _, p := range asked.Partitions {
			if asked.Topic != metadataTopic.Topic || p.Partition != 0 {
				t.Partitions = append(t.Partitions, quorumFailure(p.Partition, kerr.UnknownTopicOrPartition))
				continue
			}
			told = true
			t.Partitions = append(t.Partitions, a.describedPartition(ctx))
		}
		resp.Topics = append(resp.Topics, t)
	}
	if told {
		resp.Nodes = a.describedNodes()
	}
	return resp
}

// hear notes how far a voter has come of which something was heard; on a leader alone anybody asks.
func (a *Actor) hear(from quorum.VoterKey, now time.Time) {
	for _, v := range a.raft.Progress() {
		if v.Key == from {
			a.copies.of(from).heard(v.End, a.raft.End(), now)
		}
	}
}

// quorumFailure leaves all else at zero beside an error, also the leader's id: the field's default is 0.
func quorumFailure(partition int32, code kerr.Code) kmsg.DescribeQuorumResponseTopicPartition {
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.Partition, p.ErrorCode, p.ErrorMessage = partition, int16(code), kmsg.StringPtr(code.Error())
	return p
}

func (a *Actor) describedPartition(ctx *kit.Context) kmsg.DescribeQuorumResponseTopicPartition {
	p, now := kmsg.NewDescribeQuorumResponseTopicPartition(), ctx.Now()
	l := a.raft.Leadership()
	p.ErrorMessage = kmsg.StringPtr("")
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(l.Leader.ID), int32(l.Epoch), int64(a.log.HighWatermark())
	for _, v := range a.raft.Progress() {
		r := *a.copies.of(v.Key)
		r.end = v.End
		if v.Key == a.raft.Self() {
			r.key.Directory = a.deps.Dir.ID
			// The leader has always just fetched from itself (measured on Kafka 4.3.1).
			r.fetched, r.caughtUp = now, now
		} else if v.End >= a.raft.End() {
			r.caughtUp = r.fetched // of what was heard since
		}
		p.CurrentVoters = append(p.CurrentVoters, r.described())
	}
	for _, r := range a.copies.list {
		if r.observes && !a.isVoter(r.key) {
			p.Observers = append(p.Observers, r.described())
		}
	}
	return p
}

// observerFor is how long an observer is remembered that fetches no more, as long as Kafka does.
const observerFor = 5 * time.Minute

// forget drops those that have fetched and do so no more: whoever fetches is remembered, and each new disk is another copy.
func (c *copies) forget(now time.Time) {
	c.list = slices.DeleteFunc(c.list, func(r *logCopy) bool { return r.observes && now.Sub(r.fetched) >= observerFor })
}

func (a *Actor) isVoter(k quorum.VoterKey) bool {
	return slices.ContainsFunc(a.raft.Voters(), func(v batch.Voter) bool { return v.ID == k.ID && v.DirectoryID == k.Directory })
}

// inQuorum tells whether a node votes, or follows this leader.
func (a *Actor) inQuorum(id model.BrokerID) bool {
	return slices.ContainsFunc(a.raft.Voters(), func(v batch.Voter) bool { return v.ID == id }) ||
		slices.ContainsFunc(a.copies.list, func(r *logCopy) bool { return r.observes && r.key.ID == id })
}

// described gives times in milliseconds, -1 where there is none.
func (r *logCopy) described() kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	out := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	out.ReplicaID, out.ReplicaDirectoryID, out.LogEndOffset = int32(r.key.ID), r.key.Directory, int64(r.end)
	out.LastFetchTimestamp, out.LastCaughtUpTimestamp = millis(r.fetched), millis(r.caughtUp)
	return out
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMilli()
}

// describedNodes tells where voters and observers are reached: as they have registered as controllers (KIP-919), or as the voters
// are recorded. Observers that are no controllers have no listeners that would matter here.
func (a *Actor) describedNodes() []kmsg.DescribeQuorumResponseNode {
	var nodes []kmsg.DescribeQuorumResponseNode
	add := func(id model.BrokerID, recorded []batch.VoterEndpoint) {
		if slices.ContainsFunc(nodes, func(n kmsg.DescribeQuorumResponseNode) bool { return n.NodeID == int32(id) }) {
			return
		}
		out := kmsg.NewDescribeQuorumResponseNode()
		out.NodeID = int32(id)
		name := func(listener, host string, port uint16) {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			l.Name, l.Host, l.Port = listener, host, port
			out.Listeners = append(out.Listeners, l)
		}
		for reg := range a.applied.Controllers() {
			if reg.ControllerID == id {
				for _, e := range reg.Endpoints {
					name(e.Name, e.Host, e.Port)
				}
			}
		}
		if len(out.Listeners) == 0 {
			for _, e := range recorded {
				name(e.Name, e.Host, e.Port)
			}
		}
		nodes = append(nodes, out)
	}
	for _, v := range a.raft.Voters() {
		add(v.ID, v.Endpoints)
	}
	for _, r := range a.copies.list {
		if r.observes && !a.isVoter(r.key) {
			add(r.key.ID, nil)
		}
	}
	return nodes
}
