package replica

import (
	"log/slog"

	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// ordered keeps the order for restarts and follows it as soon as the log is there.
func (a *actor) ordered(ctx *kit.Context, m kit.Message) {
	a.kept.role = a.kept.role.ordered(m)
	if a.log == nil {
		if old := a.kept.handle.Status(); a.kept.role.lead == nil { // what it led is read from the former log no more
			a.kept.handle.status.Store(&Status{LeaderEpoch: max(old.LeaderEpoch, a.kept.role.epoch()), Online: old.Online})
			a.moved = true
		}
		return
	}
	if a.cut != nil && a.kept.role.follow != a.following.order {
		a.unfollow() // of what the leader until now has sent nothing more is taken
	}
	a.takeRole(ctx)
}

// takeRole is what the last order says. A log that is being cut takes its role when it is whole again.
func (a *actor) takeRole(ctx *kit.Context) {
	switch r := a.kept.role; {
	case a.cut != nil:
		a.stepDown()
	case a.kept.ending.asked():
		a.kept.handle.status.Store(&Status{LeaderEpoch: a.kept.handle.Status().LeaderEpoch})
	case r.lead != nil:
		a.takeLead(ctx, r.lead)
	case r.follow != nil:
		a.takeFollow(r.follow)
	default:
		a.resign()
	}
	a.armISR(ctx)
}

// takeLead begins the leadership with the log as it is written now. The high watermark begins at what this replica knew,
// not at the log's end: what lies between is committed when the ISR has it (facts/replication.md 3).
func (a *actor) takeLead(ctx *kit.Context, m *BecomeLeader) {
	h := a.kept.handle
	a.unfollow()
	_, already := a.machine.Leading()
	a.log.AssignEpoch(m.LeaderEpoch)
	log := Log{End: a.writtenEnd(), Staged: a.log.StagedEnd(), HighWatermark: a.log.HighWatermark()}
	a.apply(a.machine.Lead(m, h.Config().MinISR, log, ctx.Now()))
	if !already {
		a.recall(ctx.Now())
	}
	a.publish() // first: who finds this replica leading compares followers' logs with what it leads with
	h.status.Store(&Status{Leader: true, LeaderEpoch: m.LeaderEpoch, Online: true, Replicas: m.Replicas})
	a.changed, a.moved = true, true
}

// resign follows an order that leaves the partition without a leader: producers and consumers look for another.
func (a *actor) resign() {
	a.unfollow()
	a.stepDown()
	old := a.kept.handle.Status()
	a.kept.handle.status.Store(&Status{LeaderEpoch: old.LeaderEpoch, Online: true, Replicas: old.Replicas})
	a.moved = true
}

// configure acts on the next append: batches that are on their way were admitted under the old settings.
func (a *actor) configure(ctx *kit.Context, m *Configure) {
	a.kept.handle.config.Store(m.Config)
	if a.log != nil {
		a.log.SetConfig(m.Config.Log)
		a.apply(a.machine.SetMinISR(m.Config.MinISR, ctx.Now()))
	}
}

// watch calls at once when the watcher has not seen what is there: the change came before the watch, and nobody would tell
// of it again.
func (a *actor) watch(m *Watch) {
	a.kept.watchFor(m)
	v := a.kept.handle.View()
	if v == nil || !m.ToEnd && v.HighWatermark != m.Seen || m.ToEnd && v.LogEnd != m.Seen || !a.kept.handle.Status().Online {
		// It moved while the message was on its way. The call comes after what this batch publishes.
		a.moved = true
	}
}

// deleteRecords moves the log start, and retention takes the segments below it in its next round. Nothing at or above the
// high watermark is deleted; -1 stands for it (facts/storage-format.md 8).
func (a *actor) deleteRecords(ctx *kit.Context, m *DeleteRecords) {
	if code := a.serving(); code != kerr.None {
		m.Done(model.NoOffset, code)
		return
	}
	before := m.Before
	if before == model.NoOffset {
		before = a.log.HighWatermark()
	}
	if before < 0 || before > a.log.HighWatermark() {
		m.Done(model.NoOffset, kerr.OffsetOutOfRange)
		return
	}
	from := a.log.LogStart()
	if err := a.log.DeleteRecordsTo(before); err != nil {
		code, _ := kerr.Of(err)
		m.Done(model.NoOffset, code)
		return
	}
	if before > from {
		a.startRaised(from)
	}
	a.publish()
	a.deps.Journal.Tell(&journal.Event{
		Kind: journal.RecordsDeleted, Name: a.kept.handle.TP.String(), More: []slog.Attr{slog.Int64("log_start", int64(a.log.LogStart()))},
	})
	start := a.lastingStart()
	if low := a.machine.LowWatermark(start); low < before {
		m.Waits(low)
	}
	a.apply(a.machine.AwaitDeletion(Deletion{before, m.Deadline, m.Done}, start, ctx.Now()))
}

func (a *actor) describeProducers(m *DescribeProducers) {
	if code := a.serving(); code != kerr.None {
		m.Done(nil, code)
		return
	}
	m.Done(a.log.Producers(), kerr.None)
}

// serving tells why a request to the leader can not be answered now.
func (a *actor) serving() kerr.Code {
	if code := a.unavailable(); code != kerr.None {
		return code
	}
	if _, leading := a.machine.Leading(); a.log == nil || !leading || a.frozen() {
		return kerr.NotLeaderOrFollower
	}
	return kerr.None
}

// maintain applies what time alone brings: retention, expiry of producers, background work.
func (a *actor) maintain(ctx *kit.Context, m *Maintain) {
	if a.log == nil || a.kept.ending.asked() || a.frozen() {
		return
	}
	now := ctx.Now().UnixMilli()
	if m.Producers {
		a.changed = a.log.ExpireProducers(now, a.deps.ProducerExpiry().Milliseconds()) > 0 || a.changed
	}
	if m.Retention {
		a.run(ctx, a.log.Retention(now))
	}
	a.kept.noting.failed = false
	for _, job := range a.log.Background(now) {
		a.run(ctx, job)
	}
	a.changed = true
}

// end stops the actor as asked once no job is outstanding: the last job is the log's own closing or removal.
func (a *actor) end(ctx *kit.Context) {
	e := a.kept.ending
	if !e.asked() || a.outstanding > 0 || a.opening {
		return
	}
	if !a.lastJob {
		a.lastJob = true
		a.run(ctx, a.finalJob())
		if a.outstanding > 0 {
			return
		}
	}
	a.failStalled(kerr.NotLeaderOrFollower)
	a.answer(ctx.Now())
	a.goOffline()
	a.kept.notify(ctx.Turn())
	a.kept.ending = ending{}
	if e.delete != nil {
		e.delete.Done(a.removal())
	}
	if e.close != nil {
		e.close.Done(a.closeErr())
	}
	a.log = nil // it has given back what it held
	ctx.Stop(ctx.Self())
}

// finalJob removes the log, or closes it so that the next start finds it clean. A log that could not be opened has
// nothing to be closed; its shard removes the files.
func (a *actor) finalJob() *partitionlog.Job {
	switch {
	case a.former != nil:
		a.former.Abandon()
		a.former = nil
		return nil
	case a.log == nil:
		return nil
	case a.kept.ending.delete != nil:
		return a.log.Delete(a.kept.ending.delete.Unique)
	}
	return a.log.Close()
}

func (a *actor) removal() Removal {
	if a.log == nil {
		return Removal{Path: logDir(a.kept.handle), Err: ErrStarting}
	}
	return Removal{Path: a.log.Dir(), Err: a.log.Err()}
}

// closeErr is nil in a directory that failed, which is not marked as clean either.
func (a *actor) closeErr() error {
	switch {
	case a.kept.handle.Dir().Err() != nil:
		return nil
	case a.log == nil:
		return ErrStarting
	}
	return a.log.Err()
}
