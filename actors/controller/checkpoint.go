package controller

import (
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/cluster/quorum"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// recordBytes is what a metadata record counts towards the next checkpoint, about its size in the log.
const recordBytes = 100

// checkpointing is the state of writing checkpoints; one is written at a time.
type checkpointing struct {
	running bool
	// last is where the newest checkpoint ends; the log before the one before it is dropped.
	last model.Offset
}

// checkpointed says how the writing went; term tells whether it still matters.
type checkpointed struct {
	term     *term
	boundary quorum.Boundary
	err      error
}

func (*checkpointed) MessageKind() string { return "controller.checkpointed" }

// considerCheckpoint sums the log up when it has grown enough; and when its voters have changed: a start knows which change in
// the log is committed from the next one only, and a voter that is the last has nobody to ask.
func (a *Actor) considerCheckpoint(ctx *kit.Context) {
	m := a.deps.Config.Metadata
	// Never within a transaction (KIP-868): an image holds half of it then.
	policy := quorum.CheckpointPolicy{BytesMax: m.SnapshotBytes, AgeMax: m.SnapshotInterval}
	due := policy.Due(a.growth, ctx.Now()) || a.raft != nil && (a.raft.Bare() || a.raft.VotersSince() >= a.raft.Checkpoint().End)
	if a.log == nil || a.checkpoint.running || a.editor.InTransaction() || !due || a.votersAhead() {
		return
	}
	// An image does not change, so the lane can write it out while the controller goes on.
	img := a.applied
	c := quorum.Checkpoint{
		Boundary:     quorum.Boundary{End: img.Offset + 1, Epoch: img.Epoch, Voters: a.voters()},
		KRaftVersion: a.kraftVersion, LastTimestamp: ctx.Now().UnixMilli(), Level: img.MetadataVersion(),
	}
	a.checkpoint.running = true
	a.growth.Reset()
	self, before, now := ctx.Self(), a.checkpoint.last, a.term
	ctx.Send(a.deps.Dir.BulkLane(metadataTopic), &disk.Task{
		Name: "write metadata checkpoint",
		Do: func() error {
			if err := a.store.writeCheckpoint(c, img); err != nil {
				return err
			}
			// The one before stays as long as the new one might turn out to be damaged.
			return a.store.removeCheckpoints(before)
		},
		Done: func(err error) { self.Send(&checkpointed{now, c.Boundary, err}) },
	})
}

// votersAhead tells that the voters of this node stand in a record that is not applied: it was in the log at the start.
func (a *Actor) votersAhead() bool {
	if a.raft == nil {
		return len(a.observer.pending) > 0
	}
	return a.raft.VotersSince() > a.applied.Offset
}

// checkpointDone shortens the log to the checkpoint before the new one, so that a follower that is a little behind need
// not load a checkpoint. A failure costs disk space and a longer start, never data, and the next one is tried when due.
func (a *Actor) checkpointDone(ctx *kit.Context, m *checkpointed) {
	if m.term != a.term || a.ended {
		return
	}
	a.checkpoint.running = false
	if m.err != nil {
		a.deps.Log.Error("metadata checkpoint failed", "err", m.err)
		return
	}
	if a.raft != nil {
		a.raft.Checkpointed(m.boundary)
	}
	if a.writing != nil && a.writing.step == cutting {
		return // the log is being cut, and is shortened the next time
	}
	if err := a.log.DeleteRecordsTo(a.checkpoint.last); err != nil {
		a.deps.Log.Error("metadata log cannot be shortened", "err", err)
	}
	a.checkpoint.last = m.boundary.End
	if job := a.log.Retention(ctx.Now().UnixMilli()); job != nil {
		a.background(ctx, job)
	}
}

// background runs a job of the log's own on the metadata lane.
func (a *Actor) background(ctx *kit.Context, job *partitionlog.Job) {
	self, log := ctx.Self(), a.log
	ctx.Send(a.deps.Dir.Lane(disk.Metadata), &disk.Task{
		Name: "keep metadata log", Do: job.Run, Done: func(err error) { self.Send(&keptUp{job, log, err}) },
	})
}

// keptUp says that a job of the log's own is done; log tells the term.
type keptUp struct {
	job *partitionlog.Job
	log *partitionlog.Log
	err error
}

func (*keptUp) MessageKind() string { return "controller.kept-up" }

// keptUp takes note of the job and goes on with what has become due meanwhile.
func (a *Actor) keptUp(ctx *kit.Context, m *keptUp) {
	if m.log != a.log {
		return
	}
	a.log.Done(m.job, m.err)
	if err := a.log.Err(); err != nil {
		a.fail(ctx, err)
		return
	}
	for _, job := range a.log.Background(ctx.Now().UnixMilli()) {
		a.background(ctx, job)
	}
}
