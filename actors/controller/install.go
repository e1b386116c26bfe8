package controller

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// installing is the fetch of a checkpoint from the leader (KIP-630), for a log that is too far behind to be continued.
type installing struct {
	term     *term
	round    *round // nil on an observer
	boundary quorum.Boundary
	leader   model.BrokerID
	data     []byte
}

// chunk is an answer to one fetch.
type chunk struct {
	of   *installing
	resp kmsg.Response
	err  error
}

func (*chunk) MessageKind() string { return "controller.chunk" }

// restBeforeInstall is the pause before an installation that failed is begun anew from the files.
const restBeforeInstall = 200 * time.Millisecond

// install begins an installation; the round goes on when all has come.
func (a *Actor) install(ctx *kit.Context, r *round) {
	a.fetchChunk(ctx, &installing{term: a.term, round: r, boundary: *r.appends[0].Install, leader: a.raft.Leadership().Leader.ID})
}

func (a *Actor) fetchChunk(ctx *kit.Context, in *installing) {
	req := kmsg.NewPtrFetchSnapshotRequest()
	req.ReplicaID, req.MaxBytes = int32(a.deps.Config.NodeID), a.deps.Config.Quorum.SnapshotMaxBytes
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch, p.Position = int32(a.leading().Epoch), int64(len(in.data))
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(in.boundary.End), int32(in.boundary.Epoch)
	topic := kmsg.NewFetchSnapshotRequestTopic()
	topic.Topic, topic.Partitions = metadataTopic.Topic, []kmsg.FetchSnapshotRequestTopicPartition{p}
	req.Topics = []kmsg.FetchSnapshotRequestTopic{topic}
	self := ctx.Self()
	a.deps.Peers.SendCaused(ctx.Cause(), in.leader, &peer.Call{
		Link: peer.Controller, Body: req, Deadline: ctx.Now().Add(a.deps.Config.Quorum.RequestTimeout),
		Done: func(resp kmsg.Response, err error) { self.Send(&chunk{in, resp, err}) },
	})
}

// installed takes a chunk. A leader that is gone, or has removed the checkpoint, cannot be waited for: the term begins anew,
// and with it raft asks for what the next leader has.
func (a *Actor) installed(ctx *kit.Context, m *chunk) {
	in := m.of
	if in.term != a.term || a.ended {
		return
	}
	size, err := in.add(m)
	if err != nil {
		a.deps.Log.Warn("a checkpoint of the metadata cannot be fetched", "leader", in.leader, "err", err)
		a.startOver(ctx, restBeforeInstall)
		return
	}
	if int64(len(in.data)) < size {
		a.fetchChunk(ctx, in)
		return
	}
	r, empty := in.round, image.Empty(a.deps.ClusterID)
	if r == nil {
		a.takeOver(ctx, in)
		return
	}
	r.cut = a.log.Reset(in.boundary.End)
	harden := a.harden(r)
	a.onLane(ctx, r, "install metadata checkpoint", func() (err error) {
		if err := harden(); err != nil {
			return err
		}
		if r.image, err = a.store.takeCheckpoint(in.boundary, in.data, empty); err != nil {
			return err
		}
		return r.cut.Run()
	})
}

// add appends what an answer brings and gives the size of the whole.
func (in *installing) add(m *chunk) (int64, error) {
	if m.err != nil {
		return 0, m.err
	}
	resp, ok := m.resp.(*kmsg.FetchSnapshotResponse)
	switch {
	case !ok:
		return 0, fmt.Errorf("another answer than asked for: %T", m.resp)
	case resp.ErrorCode != 0:
		return 0, kerr.Code(resp.ErrorCode)
	case len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1:
		return 0, fmt.Errorf("an answer without the partition")
	}
	p := &resp.Topics[0].Partitions[0]
	switch {
	case p.ErrorCode != 0:
		return 0, kerr.Code(p.ErrorCode)
	case p.Position != int64(len(in.data)) || len(p.Bytes) == 0 && p.Position < p.Size:
		return 0, fmt.Errorf("%d bytes from %d of %d on, asked from %d", len(p.Bytes), p.Position, p.Size, len(in.data))
	}
	in.data = append(in.data, p.Bytes...)
	return p.Size, nil
}

// replaceImage goes on from the checkpoint's image. This broker applies what differs: it may skip any number of changes.
func (a *Actor) replaceImage(ctx *kit.Context, next *image.Image) {
	a.editor = next.Edit()
	d := image.Diff(a.applied, next)
	a.applied = next
	a.checkpoint.last = next.Offset + 1
	a.growth.Reset()
	a.log.SetHighWatermark(next.Offset + 1)
	a.publish(ctx, d, nil)
}

// reminders is how many ticks of the controller's part two looks at voters that install a checkpoint.
const reminders = 10

// remind has raft send again to voters that are said to install a checkpoint. One that has begun anew meanwhile, or never
// heard of it, would be waited for without end; one that is at it takes no harm.
func (a *Actor) remind() {
	if a.raft == nil || a.raft.Alone() {
		return
	}
	if a.beats++; a.beats%reminders != 0 {
		return
	}
	for _, v := range a.raft.Progress() {
		if v.Behind {
			a.raft.Unreachable(v.Key)
		}
	}
}

// takeOver puts a checkpoint in place of an observer's log, and begins from it.
func (a *Actor) takeOver(ctx *kit.Context, in *installing) {
	if a.log.Busy() {
		a.startOver(ctx, restBeforeInstall)
		return
	}
	job, empty := a.log.Reset(in.boundary.End), image.Empty(a.deps.ClusterID)
	a.replant(ctx, "install metadata checkpoint", func() error {
		if _, err := a.store.takeCheckpoint(in.boundary, in.data, empty); err != nil {
			return err
		}
		return job.Run()
	})
}
