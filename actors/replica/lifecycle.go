package replica

import (
	"path/filepath"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

func logDir(h *Handle) string { return filepath.Join(h.Dir.Path, h.TP.String()) }

// open has the bulk lane open the log from its files.
func (a *actor) open(ctx *kit.Context) {
	h, self, inc := a.kept.handle, ctx.Self(), ctx.Incarnation()
	res := &opened{incarnation: inc}
	params := partitionlog.OpenParams{
		RecoveryPoint: a.kept.recoveryPoint, HighWatermark: a.kept.highWatermark, LogStart: a.kept.logStart,
		Clean: a.kept.clean, TopicID: h.TopicID,
	}
	a.kept.clean = false // a second opening finds what was written since
	cfg := h.Config().Log
	ctx.Send(h.Dir.BulkLane(h.TP), &disk.Task{
		Name: "open " + h.TP.String(),
		Do: func() (err error) {
			res.log, res.recovery, err = partitionlog.Open(h.Dir.Env, logDir(h), h.TP, cfg, params)
			return err
		},
		Done: func(err error) {
			res.err = err
			self.Send(res)
		},
	})
}

func (a *actor) opened(ctx *kit.Context, m *opened) {
	if m.incarnation != ctx.Incarnation() {
		return
	}
	h := a.kept.handle
	if tell := a.kept.opened; tell != nil {
		a.kept.opened = nil
		tell(m.recovery, m.err)
	}
	if m.err != nil {
		a.deps.Log.Error("log could not be opened", "partition", h.TP.String(), "dir", h.Dir.Path, "err", m.err)
		a.kept.failed = m.err
		a.failStalled(kerr.KafkaStorageError)
		return
	}
	a.adopt(ctx, m.log)
	stalled := a.stalled
	a.stalled = nil
	for _, s := range stalled {
		a.append(ctx, s)
	}
}

// adopt takes a log that is ready and resumes the last order.
func (a *actor) adopt(ctx *kit.Context, log *partitionlog.Log) {
	a.log = log
	a.changed = true
	for _, job := range log.Background(ctx.Now().UnixMilli()) {
		a.run(ctx, job)
	}
	if a.kept.lead != nil {
		a.takeLead(a.kept.lead)
	}
}

// giveUpLog drops a log whose write failed: what waits is answered, and the log is opened anew from its files when the
// last job is back, which cuts off what was torn.
func (a *actor) giveUpLog(ctx *kit.Context, err error) {
	a.deps.Log.Error("log is opened anew after a failed write", "partition", a.kept.handle.TP.String(), "err", err)
	a.goOffline()
	for _, w := range a.machine.Resign().Answers {
		a.answers = append(a.answers, w.failed(kerr.KafkaStorageError))
	}
	a.log = nil
	a.machine = NewMachine(a.deps.Self)
	a.reopenIdle(ctx)
}

func (a *actor) reopenIdle(ctx *kit.Context) {
	if a.outstanding == 0 && a.kept.failed == nil {
		if a.kept.handle.Dir.Err() != nil {
			a.failStalled(kerr.KafkaStorageError)
			return
		}
		a.open(ctx)
	}
}

func (a *actor) failStalled(code kerr.Code) {
	for _, m := range a.stalled {
		w := Wait{Sink: m.Sink, Index: m.Index}
		a.answers = append(a.answers, w.failed(code))
	}
	a.stalled = nil
}

// becomeLeader keeps the order for restarts and follows it as soon as the log is open.
func (a *actor) becomeLeader(m *BecomeLeader) {
	if a.kept.lead != nil && m.LeaderEpoch < a.kept.lead.LeaderEpoch {
		return
	}
	a.kept.lead = m
	if a.log != nil {
		a.takeLead(m)
	}
}

func (a *actor) takeLead(m *BecomeLeader) {
	h := a.kept.handle
	a.log.AssignEpoch(m.LeaderEpoch)
	a.apply(a.machine.Lead(m, h.Config().MinISR, a.log.LogEnd(), a.log.HighWatermark()))
	h.status.Store(&Status{Leader: true, LeaderEpoch: m.LeaderEpoch, Online: true})
	a.changed, a.moved = true, true
}

// resign follows an order that leaves the partition without this leader: producers and consumers look for another.
func (a *actor) resign() {
	a.kept.lead = nil
	if a.log == nil {
		return
	}
	epoch, _ := a.machine.Leading()
	a.answers = append(a.answers, a.machine.Resign().Answers...)
	a.kept.handle.status.Store(&Status{LeaderEpoch: epoch, Online: true})
	a.moved = true
}

func (a *actor) configure(m *Configure) {
	a.kept.handle.config.Store(m.Config)
	if a.log != nil {
		a.log.SetConfig(m.Config.Log)
		a.apply(a.machine.SetMinISR(m.Config.MinISR))
	}
}

func (a *actor) watch(m *Watch) {
	a.kept.watchFor(m)
	v := a.kept.handle.View()
	if v == nil || v.HighWatermark != m.Seen || !a.kept.handle.Status().Online {
		// It moved while the message was on its way. The call comes after what this batch publishes.
		a.moved = true
	}
}

func (a *actor) deleteRecords(m *DeleteRecords) {
	if a.log == nil {
		m.Done(model.NoOffset, kerr.NotLeaderOrFollower)
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
	if err := a.log.DeleteRecordsTo(before); err != nil {
		code, _ := kerr.Of(err)
		m.Done(model.NoOffset, code)
		return
	}
	a.publish()
	m.Done(a.log.LogStart(), kerr.None)
}

func (a *actor) describeProducers(m *DescribeProducers) {
	if a.log == nil {
		m.Done(nil, kerr.NotLeaderOrFollower)
		return
	}
	m.Done(a.log.Producers(), kerr.None)
}

// maintain applies what time alone brings: retention, expiry of producers, background work.
func (a *actor) maintain(ctx *kit.Context, m *Maintain) {
	if a.log == nil || a.ending.close != nil || a.ending.delete != nil {
		return
	}
	now := ctx.Now().UnixMilli()
	if m.Producers {
		a.log.ExpireProducers(now, a.deps.ProducerExpiry.Milliseconds())
	}
	if m.Retention {
		a.run(ctx, a.log.Retention(now))
	}
	for _, job := range a.log.Background(now) {
		a.run(ctx, job)
	}
	a.changed = true
}

// end stops the actor as asked once no job is outstanding: the last job is the log's own closing or removal.
func (a *actor) end(ctx *kit.Context) {
	if a.ending.close == nil && a.ending.delete == nil || a.outstanding > 0 {
		return
	}
	if !a.ending.started && a.log != nil {
		a.ending.started = true
		a.run(ctx, a.lastJob())
		if a.outstanding > 0 {
			return
		}
	}
	a.goOffline()
	a.kept.notify()
	if a.ending.delete != nil {
		a.ending.delete.Done()
	}
	if a.ending.close != nil {
		a.ending.close.Done(a.closeErr())
	}
	a.ending = ending{}
	ctx.Stop(ctx.Self())
}

// lastJob removes the log, or closes it so that the next start finds it clean.
func (a *actor) lastJob() *partitionlog.Job {
	if a.ending.delete != nil {
		return a.log.Delete(a.ending.delete.Unique)
	}
	return a.log.Close()
}

func (a *actor) closeErr() error {
	if a.log == nil {
		return ErrStarting
	}
	return a.log.Err()
}
