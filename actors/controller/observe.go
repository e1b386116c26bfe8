package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// observer is a node that does not vote: it fetches __cluster_metadata-0 from the leader as followers fetch a partition
// (KIP-595), no further than it is committed, so that nothing that it copies is ever taken back.
type observer struct {
	reader *quorum.Reader
	// pending are the entries on disk that are not known to be committed: those that a start found.
	pending []quorum.Entry
	leader  model.BrokerID // NoBroker while it is asked for
	epoch   model.LeaderEpoch
	// namesake is where another process leads that has this one's node.id; nil for none.
	namesake *peer.Address
	turn     int // whom to ask next for the leader
	// bare tells that the log has neither records nor the checkpoint that one begins with, which names the first voters.
	bare bool
	// asking tells that a request for a vote is under way.
	asking bool
	// refused is what the last one came to: it is told once.
	refused int16
	// replaces tells that the voter of this number has been silent for so long that it may be removed; refusals counts when not.
	replaces bool
	refusals int
	ends     model.LeaderEpoch // of the last record, or of the checkpoint
}

// fetched is the answer to a fetch.
type fetched struct {
	term *term
	from model.BrokerID
	resp kmsg.Response
	err  error
}

// fetchDue ends the pause after a fetch that brought nothing.
type fetchDue struct{ term *term }

// copied says that what was fetched is on disk.
type copied struct {
	term *term
	jobs []*partitionlog.Job
	errs []error
	sync *partitionlog.Job
	high model.Offset
	err  error
}

func (*fetched) MessageKind() string  { return "controller.fetched" }
func (*fetchDue) MessageKind() string { return "controller.fetch-due" }
func (*copied) MessageKind() string   { return "controller.copied" }

// observeWait is how long the leader may wait for something to tell; observeRest is the pause after a failure.
const observeWait, observeRest = 500 * time.Millisecond, 50 * time.Millisecond

// observe begins to follow the log.
func (a *Actor) observe(ctx *kit.Context, m *loaded) {
	a.observer = &observer{reader: m.reader, pending: m.entries, leader: model.NoBroker, epoch: model.NoLeaderEpoch, bare: m.bare, ends: max(a.applied.Epoch, 0)}
	a.retired = a.retired && slices.ContainsFunc(m.reader.Voters(), a.isSelf)
	if n := len(m.entries); n > 0 {
		a.observer.ends = m.entries[n-1].Epoch
	}
	if a.applied.Offset > a.deps.Source.Image().Offset {
		a.publish(ctx, image.Diff(a.deps.Source.Image(), a.applied), nil)
	}
	a.follow(ctx)
	a.fetchLog(ctx)
}

// askable lists who may know the leader.
func (a *Actor) askable() []batch.Voter {
	if v := a.observer.reader.Voters(); len(v) > 0 {
		return v
	}
	return a.deps.Seeds
}

// fetchLog asks the leader for what comes next, or anybody for the leader.
func (a *Actor) fetchLog(ctx *kit.Context) {
	o := a.observer
	to := o.leader
	if voters := a.askable(); to == model.NoBroker && len(voters) > 0 {
		to = voters[o.turn%len(voters)].ID
		o.turn++
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.SessionEpoch = 17, -1
	req.ReplicaState.ID = int32(a.deps.Config.NodeID)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(observeWait/time.Millisecond), 1, a.deps.Config.Quorum.FetchMaxBytes
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.PartitionMaxBytes = int32(o.epoch), int64(a.log.LogEnd()), req.MaxBytes
	p.LastFetchedEpoch, p.ReplicaDirectoryID = int32(o.ends), a.deps.Dir.ID
	if o.bare {
		p.LastFetchedEpoch = -1
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID, topic.Partitions = metadataTopicID, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = []kmsg.FetchRequestTopic{topic}
	self, m := ctx.Self(), &fetched{term: a.term, from: to}
	a.deps.Peers.SendCaused(ctx.Cause(), to, &peer.Call{
		Link: peer.Controller, Body: req, Deadline: ctx.Now().Add(observeWait + a.deps.Config.Quorum.RequestTimeout),
		Done: func(resp kmsg.Response, err error) {
			m.resp, m.err = resp, err
			self.Send(m)
		},
	})
}

// onFetched goes by the leader's answer.
func (a *Actor) onFetched(ctx *kit.Context, m *fetched) {
	if m.term != a.term || a.ended {
		return
	}
	p, err := fetchedPart(m)
	if err != nil {
		a.lookFor(ctx, m, p)
		return
	}
	a.observer.leader, a.observer.namesake = m.from, nil
	a.desk.news = true // what waits for a leader may go to this one
	switch {
	case p.SnapshotID.EndOffset >= 0:
		b := quorum.Boundary{End: model.Offset(p.SnapshotID.EndOffset), Epoch: model.LeaderEpoch(p.SnapshotID.Epoch)}
		a.fetchChunk(ctx, &installing{boundary: b, leader: m.from, term: a.term})
	case p.DivergingEpoch.EndOffset >= 0:
		a.cutBack(ctx, model.Offset(p.DivergingEpoch.EndOffset))
	default:
		a.copy(ctx, p)
	}
}

// fetchedPart takes an answer apart.
func fetchedPart(m *fetched) (*kmsg.FetchResponseTopicPartition, error) {
	resp, ok := m.resp.(*kmsg.FetchResponse)
	switch {
	case m.err != nil:
		return nil, m.err
	case !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1:
		return nil, fmt.Errorf("a fetch of the metadata is answered without it")
	}
	p := &resp.Topics[0].Partitions[0]
	switch {
	case p.ErrorCode != 0:
		return p, kerr.Code(p.ErrorCode)
	case p.HighWatermark < 0 && p.SnapshotID.EndOffset < 0 && p.DivergingEpoch.EndOffset < 0:
		return p, fmt.Errorf("a fetch of the metadata is answered without saying how far it is committed")
	}
	return p, nil
}

// lookFor goes on with whom the answer names as the leader, or with somebody else.
func (a *Actor) lookFor(ctx *kit.Context, m *fetched, p *kmsg.FetchResponseTopicPartition) {
	o := a.observer
	o.leader, o.epoch = model.NoBroker, model.NoLeaderEpoch
	if p != nil && p.CurrentLeader.LeaderID >= 0 && model.BrokerID(p.CurrentLeader.LeaderID) != m.from {
		o.leader = model.BrokerID(p.CurrentLeader.LeaderID)
		a.learn(ctx, m.resp.(*kmsg.FetchResponse))
	}
	if o.leader == a.deps.Config.NodeID { // this node does not vote
		o.leader, o.namesake = model.NoBroker, leaderAt(m.resp.(*kmsg.FetchResponse), int32(o.leader))
	}
	ctx.After(observeRest, &fetchDue{a.term})
}

// leaderAt is where an answer says that a node is reached.
func leaderAt(resp *kmsg.FetchResponse, id int32) *peer.Address {
	for _, b := range resp.Brokers {
		if b.NodeID == id {
			return &peer.Address{Host: b.Host, Port: uint16(b.Port)}
		}
	}
	return &peer.Address{}
}

// learn takes down where the leader is reached: a node that came to the cluster by one of its controllers knows no other
// until it has metadata, which the leader alone gives.
func (a *Actor) learn(ctx *kit.Context, resp *kmsg.FetchResponse) {
	if a.deps.Links.IsZero() || len(resp.Brokers) == 0 {
		return
	}
	know := &peer.Know{Source: "leader", Hint: true}
	for _, b := range resp.Brokers {
		know.Nodes = append(know.Nodes, peer.Node{ID: model.BrokerID(b.NodeID), Controller: peer.Address{Host: b.Host, Port: uint16(b.Port)}})
	}
	ctx.Send(a.deps.Links, know)
}

// copy appends what came, from where this log ends: the leader's batches are cut otherwise than those of a leader before it.
func (a *Actor) copy(ctx *kit.Context, p *kmsg.FetchResponseTopicPartition) {
	m := &copied{term: a.term, high: model.Offset(p.HighWatermark)}
	for rest := p.RecordBatches; len(rest) > 0; {
		v, entries, next, err := a.nextBatch(rest)
		if err != nil && len(m.jobs) > 0 {
			break // what came before it is on its way to the disk, and it comes again
		}
		if err != nil {
			a.deps.Log.Error("metadata from the leader cannot be read", "err", err)
			ctx.After(time.Second, &fetchDue{a.term})
			return
		}
		rest = next
		if v == nil {
			continue
		}
		_, job, err := a.log.Stage(v, partitionlog.StageOptions{NowMs: v.MaxTimestamp(), LeaderEpoch: v.LeaderEpoch(), Origin: partitionlog.FromLeader})
		if err != nil {
			a.fail(ctx, err)
			return
		}
		m.jobs = append(m.jobs, job)
		a.observer.pending, a.observer.ends, a.observer.bare = append(a.observer.pending, entries...), v.LeaderEpoch(), false
	}
	if len(m.jobs) == 0 {
		a.onCopied(ctx, m)
		return
	}
	a.lane(ctx, "write metadata", func() error { m.errs = partitionlog.RunAppends(m.jobs); return nil }, func(err error) kit.Message {
		m.err = err
		return m
	})
}

// nextBatch takes what this log does not have off the front of what came; nil when it has all of the first batch.
func (a *Actor) nextBatch(data []byte) (v batch.View, entries []quorum.Entry, rest []byte, err error) {
	if v, rest, err = batch.First(data); err != nil {
		return nil, nil, nil, err
	}
	if err = v.CheckCRC(); err != nil {
		return nil, nil, nil, err
	}
	if v, err = tailOf(v, a.log.StagedEnd()); err != nil || v == nil {
		return nil, nil, rest, err
	}
	entries, err = a.observer.reader.Read(v)
	return v, entries, rest, err
}

// tailOf gives the records of a batch from an offset on; nil when there are none.
func tailOf(v batch.View, from model.Offset) (batch.View, error) {
	if v.BaseOffset() >= from {
		return v, nil
	}
	if v.NextOffset() <= from {
		return nil, nil
	}
	b := batch.NewBuilder(batch.Options{BaseOffset: from, LeaderEpoch: v.LeaderEpoch(), Control: v.Control()})
	err := v.Each(func(r batch.Record) error {
		if r.Offset >= from {
			b.Add(r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.Build()
}

// onCopied makes what was written durable, and applies what is committed: what this broker has applied must be there after
// a start.
func (a *Actor) onCopied(ctx *kit.Context, m *copied) {
	if m.term != a.term || a.ended {
		return
	}
	if m.err != nil {
		a.fail(ctx, m.err)
		return
	}
	if m.sync == nil && len(m.jobs) > 0 {
		for i, job := range m.jobs {
			a.log.Done(job, m.errs[i])
		}
		if err := a.log.Err(); err != nil {
			a.fail(ctx, err)
			return
		}
		if m.sync = a.log.Flush(); m.sync != nil {
			a.lane(ctx, "sync metadata", m.sync.Run, func(err error) kit.Message {
				m.err = err
				return m
			})
			return
		}
	}
	if m.sync != nil {
		a.log.Done(m.sync, nil)
	}
	o, n := a.observer, 0
	for n < len(o.pending) && o.pending[n].Offset < m.high {
		n++
	}
	ready := o.pending[:n:n]
	o.pending = o.pending[n:]
	if a.apply(ctx, ready); a.ended {
		return
	}
	if !a.complete && a.applied.Offset+1 >= m.high {
		a.complete = true
		a.publish(ctx, image.Diff(a.applied, a.applied), nil)
	}
	for _, job := range a.log.Background(ctx.Now().UnixMilli()) {
		a.background(ctx, job)
	}
	a.fetchLog(ctx)
}

// cutBack removes what was never committed: this node was a voter, and lost its vote. The files are read anew then, and with them what
// the cut takes too much (mend).
func (a *Actor) cutBack(ctx *kit.Context, end model.Offset) {
	if a.log.Busy() {
		ctx.After(observeRest, &fetchDue{a.term})
		return
	}
	at, view := max(end, a.applied.Offset+1), a.log.View()
	job := a.log.TruncateTo(at)
	if job == nil {
		a.startOver(ctx, observeRest)
		return
	}
	a.replant(ctx, "truncate metadata", func() error {
		if _, err := a.store.keepHead(view, at); err != nil {
			return err
		}
		return job.Run()
	})
}

// replant changes the files below the log, and begins from them.
func (a *Actor) replant(ctx *kit.Context, name string, do func() error) {
	m := &replanted{term: a.term}
	a.lane(ctx, name, do, func(err error) kit.Message {
		m.err = err
		return m
	})
}

// replanted says that it is done.
type replanted struct {
	term *term
	err  error
}

func (*replanted) MessageKind() string { return "controller.replanted" }

func (a *Actor) onReplanted(ctx *kit.Context, m *replanted) {
	switch {
	case m.term != a.term || a.ended:
	case m.err != nil:
		a.fail(ctx, m.err)
	default:
		a.startOver(ctx, 0)
	}
}
