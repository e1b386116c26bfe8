package controller

import (
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/partitionlog"
)

// round is the appends that are being made durable together. Each step is a visit to the metadata lane, in the order that
// quorum.Append documents: the hard state, with what has to go from the log; then the batches; then a sync.
type round struct {
	appends []*quorum.Append
	hard    *quorum.HardState
	// cut is the truncation or the reset that the first append asks for; image is that of the checkpoint behind a reset.
	cut   *partitionlog.Job
	image *image.Image
	// kept is what a truncation within a batch takes away too much; it is written again in front of all else.
	kept  batch.View
	jobs  []*partitionlog.Job
	errs  []error
	flush *partitionlog.Job
	step  step
}

// step is where a round has got to.
type step uint8

const (
	cutting step = iota
	writing
	syncing
)

// written says that a step of a round is done.
type written struct {
	round *round
	err   error
}

func (*written) MessageKind() string { return "controller.written" }

// write starts the next round when none is under way: rounds do not overlap, so raft hears of them in the order of its
// log. It tells whether raft has heard of one already.
func (a *Actor) write(ctx *kit.Context) (finished bool) {
	for a.writing == nil && len(a.waiting) > 0 && !a.ended {
		first := a.waiting[0]
		cuts := first.Truncate && first.Batches[0].BaseOffset() < a.log.LogEnd()
		if (cuts || first.Install != nil) && a.log.Busy() {
			break // until its own upkeep is done
		}
		r := a.nextRound()
		switch {
		case first.Install != nil:
			a.writing = r
			a.install(ctx, r)
		case cuts:
			a.writing = r
			a.truncate(ctx, r)
		default:
			finished = a.append(ctx, r) || finished
		}
	}
	return finished
}

// nextRound takes what may be written together: a truncation and an installation begin rounds of their own.
func (a *Actor) nextRound() *round {
	n := 1
	for n < len(a.waiting) && a.waiting[n].Install == nil && !a.waiting[n].Truncate {
		n++
	}
	r := &round{appends: a.waiting[:n:n]}
	a.waiting = a.waiting[n:]
	for _, ap := range r.appends {
		if ap.Hard != nil {
			// The latest one covers those before it.
			r.hard = ap.Hard
		}
	}
	return r
}

// truncate cuts the log where a new leader's entries part from it.
func (a *Actor) truncate(ctx *kit.Context, r *round) {
	at, view := r.appends[0].Batches[0].BaseOffset(), a.log.View()
	r.cut = a.log.TruncateTo(at)
	harden := a.harden(r)
	a.onLane(ctx, r, "truncate metadata", func() (err error) {
		if err := harden(); err != nil {
			return err
		}
		if r.kept, err = a.store.keepHead(view, at); err != nil {
			return err
		}
		return r.cut.Run()
	})
}

// append puts the round's batches into the log's plan and has them written. It tells whether nothing had to be: only
// messages waited for these appends then.
func (a *Actor) append(ctx *kit.Context, r *round) bool {
	if r.kept != nil && !a.stage(ctx, r, r.kept) {
		return false
	}
	for _, ap := range r.appends {
		for _, v := range ap.Batches {
			if !a.stage(ctx, r, v) {
				return false
			}
		}
	}
	if r.hard == nil && len(r.jobs) == 0 {
		a.finish(r)
		return true
	}
	a.writing, r.step = r, writing
	harden := a.harden(r)
	a.onLane(ctx, r, "write metadata", func() error {
		if err := harden(); err != nil {
			return err
		}
		r.errs = partitionlog.RunAppends(r.jobs)
		return nil
	})
	return false
}

// harden gives what makes the round's hard state durable, once.
func (a *Actor) harden(r *round) func() error {
	hard := r.hard
	if r.hard = nil; hard == nil {
		return func() error { return nil }
	}
	voters, version := a.raft.Voters(), a.kraftVersion
	return func() error { return a.store.writeHardState(*hard, version, voters) }
}

// stage plans a batch.
func (a *Actor) stage(ctx *kit.Context, r *round, v batch.View) bool {
	_, job, err := a.log.Stage(v, partitionlog.StageOptions{
		// Batches come whole from this node's raft, or out of its own log.
		NowMs: v.MaxTimestamp(), LeaderEpoch: v.LeaderEpoch(), Origin: partitionlog.FromLeader,
	})
	if err != nil {
		a.fail(ctx, err)
		return false
	}
	r.jobs = append(r.jobs, job)
	return true
}

// onLane runs a step of a round on the metadata lane. The answer carries the round, and is dropped when the term is over.
func (a *Actor) onLane(ctx *kit.Context, r *round, name string, do func() error) {
	a.lane(ctx, name, do, func(err error) kit.Message { return &written{r, err} })
}

// lane runs work on the metadata lane, and sends its outcome to this actor.
func (a *Actor) lane(ctx *kit.Context, name string, do func() error, done func(error) kit.Message) {
	self, cause := ctx.Self(), ctx.Cause()
	ctx.Send(a.deps.Dir.Lane(disk.Metadata), &disk.Task{
		Name: name, Do: do, Done: func(err error) { self.SendCaused(cause, done(err)) },
	})
}

// wrote goes on from one step of a round to the next, and from the last to raft.
func (a *Actor) wrote(ctx *kit.Context, m *written) {
	r := m.round
	if a.writing != r || a.ended {
		return // of an earlier term, or of one that is over
	}
	if m.err != nil {
		a.fail(ctx, m.err)
		return
	}
	switch r.step {
	case cutting:
		a.log.Done(r.cut, nil)
		if r.image != nil {
			a.replaceImage(ctx, r.image)
		}
		a.append(ctx, r)
	case writing:
		for i, job := range r.jobs {
			a.log.Done(job, r.errs[i])
		}
		if err := a.log.Err(); err != nil {
			a.fail(ctx, err)
			return
		}
		a.sync(ctx, r)
	case syncing:
		a.log.Done(r.flush, nil)
		a.done(ctx, r)
	}
}

// sync makes the batches durable, and drops what was kept of a truncated one when it is in the log again.
func (a *Actor) sync(ctx *kit.Context, r *round) {
	if len(r.jobs) > 0 {
		r.flush = a.log.Flush()
	}
	if r.flush == nil {
		a.done(ctx, r)
		return
	}
	r.step = syncing
	do := r.flush.Run
	if r.kept != nil {
		do = func() error {
			if err := r.flush.Run(); err != nil {
				return err
			}
			return a.store.dropHead()
		}
	}
	a.onLane(ctx, r, "sync metadata", do)
}

// done ends a round that wrote. Work that a roll has brought goes behind it: raft does not wait for it.
func (a *Actor) done(ctx *kit.Context, r *round) {
	if a.full {
		a.full = false
		a.deps.Log.Info("metadata is written again")
	}
	a.finish(r)
	for _, job := range a.log.Background(ctx.Now().UnixMilli()) {
		a.background(ctx, job)
	}
}

// finish tells raft, append by append, what now is durable.
func (a *Actor) finish(r *round) {
	a.writing = nil
	for _, ap := range r.appends {
		a.raft.Appended(ap)
	}
}
