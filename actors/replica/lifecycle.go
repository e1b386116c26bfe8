package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

func logDir(h *Handle) string { return filepath.Join(h.Dir.Path, h.TP.String()) }

// open has the bulk lane open the log from its files, when the jobs of a log before it have ended on the other lanes:
// one that is still to be written would land in the middle of the new log.
func (a *actor) open(ctx *kit.Context) {
	h, self := a.kept.handle, ctx.Self()
	res := &opened{incarnation: ctx.Incarnation()}
	params := partitionlog.OpenParams{
		RecoveryPoint: a.kept.recoveryPoint, HighWatermark: a.kept.highWatermark, LogStart: a.kept.logStart,
		Clean: a.kept.clean, Kept: a.kept.kept, Cleaned: a.kept.cleaned, TopicID: h.TopicID,
	}
	a.kept.clean, a.kept.kept = false, false // a second opening finds what was written since, or failed to be
	renewed := a.kept.renewed
	a.opening = true
	cfg := h.Config()
	task := &disk.Task{
		Name: "open " + h.TP.String(),
		Do: func() (err error) {
			if renewed {
				err = h.Dir.Checkpoints.Forget(h.TP)
			}
			if err == nil {
				res.log, res.recovery, err = partitionlog.Open(h.Dir.Env, logDir(h), h.TP, cfg.Log, params)
			}
			if foreign := (*partitionlog.ForeignError)(nil); errors.As(err, &foreign) {
				if res.aside, err = setAside(h, foreign.Found); err == nil {
					res.log, res.recovery, err = partitionlog.Open(h.Dir.Env, logDir(h), h.TP, cfg.Log, params)
				}
			}
			if err == nil {
				err = settle(h, res.log, cfg.FlushMessages)
			}
			return err
		},
		Done: func(err error) {
			res.err = err
			self.Send(res)
		},
	}
	if !a.kept.worked {
		ctx.Send(h.Dir.BulkLane(h.TP), task)
		return
	}
	ctx.Send(h.Dir.AppendLane(h.TP), passing(h.Dir.Lane(disk.Fsync), passing(h.Dir.BulkLane(h.TP), task)))
}

// settle does what has to be done on the disk before the log takes batches. Its recovery point falls where a power cut took
// more than it should, or ended a truncation half way. What a killed process left in the page cache is made durable, so that
// with flush.messages all that the log holds counts as written at once.
func settle(h *Handle, log *partitionlog.Log, flushMessages int64) error {
	err := h.Dir.Checkpoints.Lower(h.TP, log.RecoveryPoint())
	if err == nil && int64(log.LogEnd()-log.Flushed()) >= flushMessages {
		job := log.Flush()
		err = job.Run()
		log.Done(job, err)
	}
	if err != nil {
		log.Abandon()
	}
	return err
}

// setAside renames a directory that belongs to an earlier topic of the name, whose deletion a crash cut short, gives its new
// name, and has the checkpoints forget it.
func setAside(h *Handle, id model.TopicID) (aside string, err error) {
	fsys, dir := h.Dir.Env.FS, logDir(h)
	stray := fmt.Sprintf("%s.%s-stray", dir, id.Hex())
	if err := fsys.Rename(dir, stray); err != nil {
		return "", err
	}
	if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
		return stray, err
	}
	return stray, h.Dir.Checkpoints.Forget(h.TP)
}

// passing waits for its turn in a lane and then goes on to the next one, whatever became of the lane.
func passing(next kit.Ref, task *disk.Task) *disk.Task {
	return &disk.Task{Name: "pass", Do: func() error { return nil }, Done: func(error) { next.Send(task) }}
}

// opened takes the log over, or plans the next attempt. An answer to an earlier incarnation brings a log that nobody is to
// write to: the one that this incarnation asked for is opened after it, from the same files.
func (a *actor) opened(ctx *kit.Context, m *opened) {
	if m.incarnation != ctx.Incarnation() {
		if m.log != nil {
			m.log.Abandon()
		}
		return
	}
	a.opening = false
	if m.aside != "" {
		a.deps.Log.Warn("the log of an earlier topic of the name was set aside and is kept until it is moved or deleted by hand", "partition", a.kept.handle.TP.String(), "now", m.aside)
	}
	if m.err != nil {
		a.openFailed(ctx, m.err)
		a.kept.tell(m.recovery, m.err)
		return
	}
	if r := m.recovery; r.Reason != nil {
		a.deps.Log.Warn("log was damaged, what is whole of it is kept", "partition", a.kept.handle.TP.String(), "dir", a.kept.handle.Dir.Path, "err", r.Reason,
			"cut_off_bytes", r.TruncatedBytes, "deleted_segments", r.DeletedSegments)
	}
	a.kept.renewed = false
	a.adopt(ctx, m.log)
	a.publish() // who is told that the log is open finds it so
	a.kept.tell(m.recovery, nil)
	stalled := a.stalled
	a.stalled = nil
	for _, s := range stalled {
		a.append(ctx, s)
	}
}

// openFailed tries again later, for an operator may put it right while the broker runs; in a directory that failed there is
// nothing to be tried until a restart.
func (a *actor) openFailed(ctx *kit.Context, err error) {
	h := a.kept.handle
	level := slog.LevelError
	if partitionlog.Passes(err) {
		level = slog.LevelDebug // of a full disk the broker tells
	}
	a.deps.Log.Log(context.Background(), level, "log could not be opened", "partition", h.TP.String(), "dir", h.Dir.Path, "err", err)
	if h.Dir.Err() == nil {
		a.rest(ctx)
		return
	}
	a.goOffline()
	a.failStalled(kerr.KafkaStorageError)
}

// adopt takes a log that is ready and resumes the last order.
func (a *actor) adopt(ctx *kit.Context, log *partitionlog.Log) {
	a.log = log
	a.changed, a.rests = true, 0
	for _, job := range log.Background(ctx.Now().UnixMilli()) {
		a.run(ctx, job)
	}
	a.takeRole(ctx)
	a.flushByPolicy(ctx)
	if a.former != nil {
		a.publish() // readers go on from the new files
		a.former.Abandon()
		a.former = nil
	}
}

// giveUpLog drops a log whose write failed: what waits is answered, and the log is opened anew from its files, which
// cuts off what was torn. What was committed is read from the old one until then.
func (a *actor) giveUpLog(ctx *kit.Context, err error) {
	h := a.kept.handle
	if !partitionlog.Passes(err) {
		a.deps.Log.Error("log is opened anew after a failed write", "partition", h.TP.String(), "err", err)
	}
	a.publish() // for those who are about to be told of success
	for _, w := range a.machine.Resign().Answers {
		a.answers = append(a.answers, w.failed(kerr.KafkaStorageError))
	}
	a.unfollow()
	a.former, a.log, a.flushJob = a.log, nil, nil
	a.appends, a.cut = nil, nil
	a.machine = a.newMachine()
	switch {
	case h.Dir.Err() != nil:
		a.goOffline()
	case partitionlog.Passes(err):
		a.rest(ctx)
	default:
		a.open(ctx)
	}
}

// restFor is how long a full disk is left alone at first; producers are refused meanwhile. A log that cannot be opened
// for another reason is tried again too, at most once in restMost: an operator may put it right.
const (
	restFor  = time.Second
	restMost = time.Minute
)

// rest refuses what waits and doubles the pause. A thousand logs on a full disk would else spend its last bytes and all of
// a core on opening and failing.
func (a *actor) rest(ctx *kit.Context) {
	a.resting = true
	a.failStalled(kerr.KafkaStorageError)
	ctx.After(min(restFor<<a.rests, restMost), &reopenDue{})
	if restFor<<a.rests < restMost {
		a.rests++
	}
}

// failStalled answers the appends that came while the log was being opened; nothing of them was staged.
func (a *actor) failStalled(code kerr.Code) {
	for _, m := range a.stalled {
		w := Wait{Sink: m.Sink, Index: m.Index}
		a.answers = append(a.answers, w.refused(code))
	}
	a.stalled = nil
}

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
func (a *actor) deleteRecords(m *DeleteRecords) {
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
	if err := a.log.DeleteRecordsTo(before); err != nil {
		code, _ := kerr.Of(err)
		m.Done(model.NoOffset, code)
		return
	}
	a.publish()
	a.deps.Journal.Tell(&journal.Event{
		Kind: journal.RecordsDeleted, Name: a.kept.handle.TP.String(), More: []slog.Attr{slog.Int64("log_start", int64(a.log.LogStart()))},
	})
	m.Done(a.log.LogStart(), kerr.None)
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
	if _, leading := a.machine.Leading(); a.log == nil || !leading {
		return kerr.NotLeaderOrFollower
	}
	return kerr.None
}

// maintain applies what time alone brings: retention, expiry of producers, background work.
func (a *actor) maintain(ctx *kit.Context, m *Maintain) {
	if a.log == nil || a.kept.ending.asked() {
		return
	}
	now := ctx.Now().UnixMilli()
	if m.Producers {
		a.changed = a.log.ExpireProducers(now, a.deps.ProducerExpiry().Milliseconds()) > 0 || a.changed
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

func (a *actor) closeErr() error {
	if a.log == nil {
		return ErrStarting
	}
	return a.log.Err()
}
