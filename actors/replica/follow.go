package replica

import (
	"errors"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// following is a replica's part as a follower. The fetchers are told where the log stands when it stands still: with all that
// was staged written, and no cut under way.
type following struct {
	order   *BecomeFollower // nil when there is no leader to follow
	told    bool            // the fetchers have it
	due     bool            // they, or fetcher, wait to hear of the log
	fetcher kit.Ref         // zero before the first Fetched
	failed  error           // why what was fetched is not in the log
	loan    *Loan           // of what was fetched last, until the log stands still with it
	// The leader's marks, which this log follows as far as it has come.
	highWatermark, logStart model.Offset
}

// cut is a truncation on its way: wanted, under way as job, then made known to the checkpoint of recovery points. Roles wait
// for its end, so that nothing is appended before.
type cut struct {
	to     model.Offset
	all    bool     // nothing is kept: the log begins at to
	first  *Fetched // what the log then takes in first; nil for what the next fetch brings
	job    *partitionlog.Job
	staged bool
}

// takeFollow begins to follow. The same leader at the same epoch again brings only another ISR.
func (a *actor) takeFollow(m *BecomeFollower) {
	if o := a.following.order; o == nil || o.Leader != m.Leader || o.LeaderEpoch != m.LeaderEpoch {
		a.stepDown()
		a.unfollow()
		a.following = following{due: true, highWatermark: model.NoOffset, logStart: model.NoOffset}
	}
	a.following.order = m
	a.kept.handle.status.Store(&Status{Follower: true, LeaderEpoch: m.LeaderEpoch, Online: true, Replicas: m.Replicas})
	a.changed, a.moved = true, true
}

// stepDown sends producers away. The next leadership begins from a machine that knows nothing of this one.
func (a *actor) stepDown() {
	a.answers = append(a.answers, a.sendAway()...)
	a.machine = a.newMachine()
	if a.isrTimer != nil {
		a.isrTimer.Stop()
		a.isrTimer = nil
	}
}

// unfollow ends the fetching. What is still on its way is of an order that is no more, and is not taken.
func (a *actor) unfollow() {
	if a.following.told {
		a.deps.Fetchers.Send(&Unfollowed{a.kept.handle})
	}
	a.following = following{}
}

// fetched takes what the leader sent. What is of another role, or comes while the log is not there, is dropped: the fetcher
// hears of the log when it is told to follow.
func (a *actor) fetched(ctx *kit.Context, m *Fetched) {
	f := &a.following
	if f.order == nil || m.LeaderEpoch != f.order.LeaderEpoch || a.log == nil || a.cut != nil {
		return
	}
	f.fetcher, f.loan = m.Fetcher, m.Loan
	do, at := m.judge(standing{a.log.LogStart(), a.log.StagedEnd(), a.log.EpochEnd})
	if do == takeIn { // the leader tells its marks once
		f.highWatermark, f.logStart = m.HighWatermark, m.LogStart
	}
	switch {
	case do == askAgain, a.frozen(): // it is asked for again when the log is there
		f.due = true
	case do != takeIn:
		a.cutTo(at, do == beginAt)
	case len(m.Batches) > 0:
		f.due = true
		f.failed = a.takeIn(ctx, m)
	default:
		a.followMarks()
	}
}

// takeIn stages whole batches; one that was cut at the fetch's limit comes again. Each is checked here, since the leader only
// passed on what lay in its file.
func (a *actor) takeIn(ctx *kit.Context, m *Fetched) error {
	now := ctx.Now().UnixMilli()
	for rest := m.Batches; len(rest) > 0; {
		v, after, err := batch.First(rest)
		if errors.Is(err, batch.ErrIncomplete) {
			return nil
		}
		if err == nil {
			err = v.CheckCRC()
		}
		if err == nil && v.LeaderEpoch() > m.LeaderEpoch {
			// A batch of a leader after the one that was asked: whose log this is will be told by the next order.
			err = kerr.UnknownLeaderEpoch
		}
		var job *partitionlog.Job
		if err == nil {
			_, job, err = a.log.Stage(v, partitionlog.StageOptions{NowMs: now, Origin: partitionlog.FromLeader})
		}
		switch {
		case errors.Is(err, partitionlog.ErrUnexpectedOffset) && a.log.StagedEnd() == a.log.LogStart():
			// The leader's log begins in the middle of a batch (DeleteRecords), which only comes whole. It comes once: from where
			// it begins nothing can be fetched.
			a.cutTo(v.BaseOffset(), true)
			a.cut.first = m
			return nil
		case err != nil:
			a.deps.Log.Error("what the leader sent is not taken", "partition", a.kept.handle.TP.String(), "leader", int(a.following.order.Leader), "err", err)
			return err
		}
		a.appends = append(a.appends, job)
		ctx.Link(m)
		rest = after
	}
	return nil
}

// followMarks goes by the leader's marks as far as the log has come. The high watermark does not go back where a new leader
// does not know it yet: what was committed stays committed, and consumers here have seen it.
func (a *actor) followMarks() {
	f := &a.following
	if f.order == nil {
		return
	}
	if to := min(f.highWatermark, a.log.LogEnd()); to > a.log.HighWatermark() {
		a.log.SetHighWatermark(to)
		a.changed = true
	}
	if from, to := a.log.LogStart(), min(f.logStart, a.log.HighWatermark()); to > from {
		if err := a.log.DeleteRecordsTo(to); err != nil {
			a.deps.Log.Error("log start does not follow the leader's", "partition", a.kept.handle.TP.String(), "err", err)
			return
		}
		a.changed = true
		a.startRaised(from) // then the leader's DeleteRecords hears of it, which waits for that
	}
}

// cutTo begins a truncation; it is staged when no other job is under way.
func (a *actor) cutTo(at model.Offset, all bool) {
	h := a.kept.handle
	if hw := a.log.HighWatermark(); at < hw {
		a.deps.Log.Warn("records that were committed are removed, since the leader does not have them", "partition", h.TP.String(),
			"high_watermark", int64(hw), "to", int64(at), "leader", int(a.following.order.Leader))
	}
	a.cut = &cut{to: at, all: all}
}

// stageCut is called at the end of each batch of messages: what the cut waits for ends with one.
func (a *actor) stageCut(ctx *kit.Context) {
	c := a.cut
	if c == nil || c.staged || a.log == nil || a.log.Busy() {
		return
	}
	c.staged = true
	if c.all {
		c.job = a.log.Reset(c.to)
	} else {
		c.job = a.log.TruncateTo(c.to)
	}
	if c.job == nil {
		a.endCut(ctx)
		return
	}
	a.run(ctx, c.job)
}

// cutDone has the checkpoints lowered before anything is appended (docs/adr/0015).
func (a *actor) cutDone(ctx *kit.Context) {
	h, self, point := a.kept.handle, ctx.Self(), a.log.RecoveryPoint()
	a.outstanding++
	done := &lowered{incarnation: ctx.Incarnation()}
	start := a.log.LogStart()
	if a.cut.all {
		a.kept.noting.due = false // of what was there before
	}
	ctx.Send(h.Dir().BulkLane(h.TP), &disk.Task{
		Name: "lower the recovery point of " + h.TP.String(),
		Do: func() error {
			return errors.Join(h.Dir().Checkpoints.Lower(h.TP, point), h.Dir().Checkpoints.LowerStart(h.TP, start))
		},
		Done: func(err error) {
			done.err = err
			self.Send(done)
		},
	})
}

func (a *actor) lowered(ctx *kit.Context, m *lowered) {
	if m.incarnation != ctx.Incarnation() {
		return
	}
	a.outstanding--
	switch {
	case a.log == nil || a.cut == nil:
	case m.err != nil: // opening the log lowers it too
		a.log.Abandon()
		a.giveUpLog(ctx, m.err)
	default:
		a.endCut(ctx)
	}
}

func (a *actor) endCut(ctx *kit.Context) {
	first := a.cut.first
	a.cut = nil
	a.following.due = true
	a.changed = true
	a.takeRole(ctx)
	// A role that has changed meanwhile begins where the log ends now.
	if o := a.following.order; first != nil && o != nil && o.LeaderEpoch == first.LeaderEpoch && a.cut == nil {
		a.following.failed = a.takeIn(ctx, first)
	}
}

// tellPosition tells where the log stands, once it does.
func (a *actor) tellPosition(ctx *kit.Context) {
	f := &a.following
	if !f.due || f.order == nil || a.log == nil || a.cut != nil || a.kept.ending.asked() || a.deps.Fetchers.IsZero() {
		return
	}
	end := a.log.LogEnd()
	if end != a.log.StagedEnd() || a.writtenEnd() != end {
		return
	}
	f.due = false
	at := Position{LeaderEpoch: f.order.LeaderEpoch, Offset: end, LastEpoch: model.NoLeaderEpoch, LogStart: a.lastingStart()}
	if end > a.log.LogStart() {
		at.LastEpoch = a.log.View().EpochAt(end - 1)
	}
	h := a.kept.handle
	if !f.told {
		f.told = true
		ctx.Send(a.deps.Fetchers, &Following{h, f.order.Leader, at})
		return
	}
	// Every job of the log has ended, so that no lane reads what was fetched.
	ctx.Send(f.fetcher, &Progress{Handle: h, Position: at, Err: f.failed, Loan: f.loan})
	f.failed, f.loan = nil, nil
}
