package controller

import (
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// round is the appends that are being made durable together: their hard state first, then the batches, then a sync of
// the log (the order that quorum.Append documents).
type round struct {
	appends []*quorum.Append
	jobs    []*partitionlog.Job
	errs    []error
	flush   *partitionlog.Job
}

// written says that a stage of a round is done.
type written struct {
	round *round
	err   error
}

func (*written) MessageKind() string { return "controller.written" }

// pump runs the quorum's effects until there are none: what was applied may make the machine propose more. Appends are
// only gathered here, so that all of one pass share a write and a sync.
func (a *Actor) pump(ctx *kit.Context) {
	if a.raft == nil {
		return
	}
	for {
		e, err := a.raft.Take(ctx.Now())
		if err != nil {
			a.fail(ctx, err)
			return
		}
		if e.Leadership == nil && len(e.Appends) == 0 && len(e.Committed) == 0 {
			break
		}
		a.waiting = append(a.waiting, e.Appends...)
		// Who has lost the leadership answers what it took at once. Its records may still be committed by the next leader, so the
		// answer can only be one that makes the client look again.
		if l := e.Leadership; l != nil && !l.Self && a.machine.Leading() {
			a.answer(a.machine.Resign())
		}
		if a.apply(ctx, e.Committed); a.ended {
			return
		}
	}
	a.write(ctx)
}

// write starts the next round when none is under way: rounds do not overlap, so raft hears of them in the order of its log.
func (a *Actor) write(ctx *kit.Context) {
	for a.writing == nil && len(a.waiting) > 0 {
		r := &round{appends: a.waiting}
		a.waiting = nil
		var hard *quorum.HardState
		for _, ap := range r.appends {
			if ap.Hard != nil {
				// The latest one covers those before it.
				hard = ap.Hard
			}
			if !a.stage(ctx, r, ap) {
				return
			}
		}
		// Nothing to make durable: only messages wait for this append.
		if hard == nil && len(r.jobs) == 0 {
			a.finish(r)
			continue
		}
		a.writing = r
		voters := a.raft.Voters()
		a.onLane(ctx, r, "write metadata", func() error {
			if hard != nil {
				if err := a.store.writeHardState(*hard, a.kraftVersion, voters); err != nil {
					return err
				}
			}
			r.errs = partitionlog.RunAppends(r.jobs)
			return nil
		})
	}
}

// stage puts an append's batches into the log's plan.
func (a *Actor) stage(ctx *kit.Context, r *round, ap *quorum.Append) bool {
	for _, v := range ap.Batches {
		_, job, err := a.log.Stage(v, partitionlog.StageOptions{
			// The batches carry the leader's time, and every node's log must be the same to the byte.
			NowMs: v.MaxTimestamp(), LeaderEpoch: v.LeaderEpoch(), Origin: partitionlog.FromLeader,
		})
		if err != nil {
			a.fail(ctx, err)
			return false
		}
		r.jobs = append(r.jobs, job)
	}
	return true
}

// onLane runs a step of a round on the metadata lane. The answer carries the round, and is dropped when the term is over.
func (a *Actor) onLane(ctx *kit.Context, r *round, name string, do func() error) {
	self, cause := ctx.Self(), ctx.Cause()
	ctx.Send(a.deps.Dir.Lane(disk.Metadata), &disk.Task{
		Name: name, Do: do, Done: func(err error) { self.SendCaused(cause, &written{r, err}) },
	})
}

// wrote goes on from the write to the sync, and from the sync to raft.
func (a *Actor) wrote(ctx *kit.Context, m *written) {
	r := m.round
	if a.writing != r {
		return // of an earlier term
	}
	if m.err != nil {
		a.fail(ctx, m.err)
		return
	}
	if r.flush == nil && len(r.jobs) > 0 {
		for i, job := range r.jobs {
			a.log.Done(job, r.errs[i])
		}
		if err := a.log.Err(); err != nil {
			a.fail(ctx, err)
			return
		}
		if r.flush = a.log.Flush(); r.flush != nil {
			a.onLane(ctx, r, "sync metadata", r.flush.Run)
			return
		}
	}
	if r.flush != nil {
		a.log.Done(r.flush, nil)
	}
	a.writing = nil
	if a.full {
		a.full = false
		a.deps.Log.Info("metadata is written again")
	}
	a.finish(r)
	// Work that a roll has brought goes behind the round: raft does not wait for it.
	for _, job := range a.log.Background(ctx.Now().UnixMilli()) {
		a.background(ctx, job)
	}
}

// finish tells raft, append by append, what now is durable.
func (a *Actor) finish(r *round) {
	for _, ap := range r.appends {
		a.raft.Appended(ap)
	}
}

// apply replays what is committed and hands the image on. Replies go out when this broker has applied it, so that a
// client that is told of a change finds it.
func (a *Actor) apply(ctx *kit.Context, entries []quorum.Entry) {
	if len(entries) == 0 {
		return
	}
	led := model.NoLeaderEpoch
	for _, e := range entries {
		switch {
		case e.Record != nil:
			if err := a.editor.Apply(e.Offset, e.Epoch, e.Record); err != nil {
				a.fail(ctx, err)
				return
			}
			a.growth.Add(recordBytes, ctx.Now())
		default:
			a.editor.Skip(e.Offset, e.Epoch)
			if _, ok := e.Control.(batch.LeaderChange); ok {
				led = e.Epoch
			}
		}
	}
	last := entries[len(entries)-1]
	// What is committed is what readers of the log may see.
	a.log.SetHighWatermark(last.Offset + 1)
	next, delta := a.editor.Publish()
	// A leader acts from its own LEADER_CHANGE record on: everything of earlier epochs stands before it (KIP-595).
	if l := a.raft.Leadership(); l.Self && led == l.Epoch {
		a.lead(ctx, l.Epoch, next)
	}
	replies := a.machine.Committed(last.Offset)
	self, cause, now := ctx.Self(), ctx.Cause(), a.term
	ctx.Send(a.deps.Metadata, &metadata.Apply{
		Delta: delta, Complete: a.complete, Then: func() { self.SendCaused(cause, &appliedImage{now, replies}) },
	})
	a.applied = next
}

// lead makes the controller active: everything that was committed before is applied now.
func (a *Actor) lead(ctx *kit.Context, epoch model.LeaderEpoch, committed *image.Image) {
	a.complete = true
	a.effects(a.machine.Lead(a.at(ctx), epoch, committed, a.editor.InTransaction()))
	// They came while nobody led, and are taken as if they came now.
	early := a.early
	a.early = nil
	for _, r := range early {
		a.request(ctx, r)
	}
}
