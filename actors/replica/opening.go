package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

func logDir(h *Handle) string { return filepath.Join(h.Dir().Path, h.TP.String()) }

// open has the bulk lane open the log from its files, when the jobs of a log before it have ended on the other lanes:
// one that is still to be written would land in the middle of the new log.
func (a *actor) open(ctx *kit.Context) {
	if s := a.kept.swapping; s != nil && !s.gone {
		a.findName(ctx)
		return
	}
	h, self := a.kept.handle, ctx.Self()
	res := &opened{incarnation: ctx.Incarnation()}
	params := partitionlog.OpenParams{
		RecoveryPoint: a.kept.recoveryPoint, HighWatermark: a.kept.highWatermark, LogStart: a.kept.logStart,
		Clean: a.kept.clean, Kept: a.kept.kept, Cleaned: a.kept.cleaned, TopicID: h.TopicID,
	}
	a.kept.clean, a.kept.kept = false, false // a second opening finds what was written since, or failed to be
	renewed, moved := a.kept.renewed, a.kept.swapping
	a.opening = true
	cfg := h.Config()
	task := &disk.Task{
		Name: "open " + h.TP.String(),
		Do: func() (err error) {
			if renewed {
				err = h.Dir().Checkpoints.Forget(h.TP)
			}
			if moved != nil {
				err = errors.Join(err, partitionlog.TakeName(h.Dir().Env.FS, moved.future, logDir(h)))
			}
			if err == nil {
				res.log, res.recovery, err = partitionlog.Open(h.Dir().Env, logDir(h), h.TP, cfg.Log, params)
			}
			if foreign := (*partitionlog.ForeignError)(nil); errors.As(err, &foreign) {
				if res.aside, err = setAside(h, foreign.Found); err == nil {
					res.log, res.recovery, err = partitionlog.Open(h.Dir().Env, logDir(h), h.TP, cfg.Log, params)
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
		ctx.Send(h.Dir().BulkLane(h.TP), task)
		return
	}
	for _, lane := range []kit.Ref{h.Dir().BulkLane(h.TP), h.Dir().Lane(disk.Create), h.Dir().Lane(disk.Fsync)} {
		task = passing(lane, task)
	}
	ctx.Send(h.Dir().AppendLane(h.TP), task)
}

// settle does what has to be done on the disk before the log takes batches. Its recovery point falls where a power cut took
// more than it should, or ended a truncation half way. What a killed process left in the page cache is made durable, so that
// with flush.messages all that the log holds counts as written at once.
func settle(h *Handle, log *partitionlog.Log, flushMessages int64) error {
	err := h.Dir().Checkpoints.Lower(h.TP, log.RecoveryPoint())
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
	fsys, dir := h.Dir().Env.FS, logDir(h)
	stray := fmt.Sprintf("%s.%s-stray", dir, id.Hex())
	if err := fsys.Rename(dir, stray); err != nil {
		return "", err
	}
	if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
		return stray, err
	}
	return stray, h.Dir().Checkpoints.Forget(h.TP)
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
		a.deps.Log.Warn("log was damaged, what is whole of it is kept", "partition", a.kept.handle.TP.String(), "dir", a.kept.handle.Dir().Path, "err", r.Reason,
			"cut_off_bytes", r.TruncatedBytes, "deleted_segments", r.DeletedSegments)
	}
	a.kept.renewed, a.kept.swapping = false, nil
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
	a.deps.Log.Log(context.Background(), level, "log could not be opened", "partition", h.TP.String(), "dir", h.Dir().Path, "err", err)
	if h.Dir().Err() == nil {
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
	for _, w := range a.sendAway() {
		a.answers = append(a.answers, w.failed(kerr.KafkaStorageError))
	}
	a.unfollow()
	a.unfreeze(ctx, err)
	a.former, a.log, a.flushJob = a.log, nil, nil
	a.appends, a.cut = nil, nil
	a.machine = a.newMachine()
	switch {
	case h.Dir().Err() != nil:
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
