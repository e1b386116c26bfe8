package replica

import (
	"errors"
	"log/slog"

	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// append stages one batch. The producer is answered when the machine says that it may be.
func (a *actor) append(ctx *kit.Context, m *Append) {
	epoch, _ := a.machine.Leading()
	res := AppendResult{BaseOffset: model.NoOffset, LogAppendTime: -1, LogStart: model.NoOffset, LeaderEpoch: epoch}
	w := Wait{Deadline: m.Deadline, Patient: m.Coordinator, Result: res, Sink: m.Sink, Index: m.Index}
	if code := a.unavailable(); code != kerr.None {
		a.answers = append(a.answers, w.refused(code))
		return
	}
	if a.log == nil || a.frozen() {
		a.stalled = append(a.stalled, m)
		return
	}
	if code := a.machine.Admit(m.AllAcks); code != kerr.None {
		a.answers = append(a.answers, w.refused(code))
		return
	}
	if m.AllAcks && !w.Patient && a.machine.CutOff() {
		a.answers = append(a.answers, w.refused(kerr.NotLeaderOrFollower))
		return
	}
	if m.Coordinator && (m.Base != a.log.StagedEnd() || m.LeaderEpoch != epoch) {
		a.answers = append(a.answers, w.failed(kerr.UnknownServerError))
		return
	}
	now := ctx.Now().UnixMilli()
	staged, job, err := a.log.Stage(m.Batch, partitionlog.StageOptions{NowMs: now, LeaderEpoch: epoch, Origin: m.origin()})
	if err != nil {
		a.refuse(w, err)
		return
	}
	if job != nil {
		a.appends = append(a.appends, job)
		ctx.Link(m)
		if cause := ctx.Cause(); cause.Traced() && a.machine.Replicated() {
			a.kept.handle.trace(staged.BaseOffset, cause)
		}
	}
	m.taken = true
	if m.AllAcks && (a.soonest.IsZero() || m.Deadline.Before(a.soonest)) {
		a.soonest = m.Deadline
	}
	w.Next = staged.LastOffset + 1
	w.Result.BaseOffset, w.Result.LogAppendTime = staged.BaseOffset, staged.LogAppendMs
	a.apply(a.machine.Await(w, m.AllAcks))
}

// unavailable tells why no append is taken, nor kept until the log is open.
func (a *actor) unavailable() kerr.Code {
	switch {
	case a.kept.ending.asked():
		return kerr.NotLeaderOrFollower
	case a.resting || a.kept.handle.Dir().Err() != nil:
		return kerr.KafkaStorageError
	}
	return kerr.None
}

// origin tells the log which rules the producer's client keeps (KIP-890).
func (m *Append) origin() partitionlog.Origin {
	if m.Coordinator {
		return partitionlog.FromCoordinator
	}
	if m.Version >= 12 {
		return partitionlog.FromClientV2
	}
	return partitionlog.FromClient
}

// refuse turns what the log says into the producer's code. Of a poisoned log the cause was logged where it happened; what
// the log's rules do not foresee is this broker's fault, and is logged here.
func (a *actor) refuse(w Wait, err error) {
	code, message := kerr.Of(err)
	if errors.Is(err, partitionlog.ErrPoisoned) {
		code, message = kerr.KafkaStorageError, ""
	}
	if code == kerr.UnknownServerError {
		a.deps.Log.Error("append failed", "partition", a.kept.handle.TP.String(), "err", err)
	}
	w = w.refused(code)
	w.Result.Message = message
	a.answers = append(a.answers, w)
}

// submitAppends sends what one batch of messages staged.
func (a *actor) submitAppends(ctx *kit.Context) {
	h := a.kept.handle
	jobs := append([]*partitionlog.Job(nil), a.appends...)
	clear(a.appends)
	a.appends = a.appends[:0]
	a.outstanding += len(jobs)
	a.kept.worked = true
	ctx.Send(h.Dir().AppendLane(h.TP), &disk.Appends{Jobs: jobs, Owner: ctx.Self(), Incarnation: ctx.Incarnation()})
}

// run sends one job to its lane; nil is no job.
func (a *actor) run(ctx *kit.Context, job *partitionlog.Job) {
	if job == nil {
		return
	}
	h := a.kept.handle
	a.outstanding++
	a.kept.worked = true
	ctx.Send(h.Dir().LaneFor(job, h.TP), &disk.Run{Job: job, Owner: ctx.Self(), Incarnation: ctx.Incarnation()})
}

type finished = disk.Finished

// finished applies what the lanes did.
func (a *actor) finished(ctx *kit.Context, m *finished) {
	if m.Incarnation != ctx.Incarnation() {
		return // of a log that was given up; its files tell what became of it
	}
	a.outstanding -= len(m.Jobs)
	if a.log == nil {
		return
	}
	for i, job := range m.Jobs {
		if job == a.freezing.name {
			a.freezing.swap.Log.Done(job, m.Errs[i])
		} else {
			a.log.Done(job, m.Errs[i])
		}
		a.kindDone(ctx, job, m.Errs[i])
		if m.Errs[i] == nil {
			a.swapStep(ctx, job)
		} else if job == a.freezing.name {
			a.giveUpLog(ctx, m.Errs[i])
			return
		}
	}
	a.changed = true
	if a.following.due {
		ctx.Link(m) // what is told of it at the end of the batch goes on with its trace
	}
	if a.lastJob {
		return
	}
	if err := a.log.Err(); err != nil {
		a.giveUpLog(ctx, err)
		return
	}
	now := ctx.Now()
	if a.cut == nil && !a.frozen() { // else it waits for all that is under way
		for _, job := range a.log.Background(now.UnixMilli()) {
			a.run(ctx, job)
		}
		a.flushByPolicy(ctx)
	}
	if _, leading := a.machine.Leading(); leading {
		a.apply(a.machine.Written(a.writtenEnd(), now))
	}
	a.followMarks()
}

// kindDone is silent about a full disk and a fenced directory: the broker says each once for all of its logs.
func (a *actor) kindDone(ctx *kit.Context, job *partitionlog.Job, err error) {
	if err != nil && !errors.Is(err, disk.ErrFenced) && !partitionlog.Passes(err) {
		a.deps.Log.Error("disk work failed", "partition", a.kept.handle.TP.String(), "err", err)
	}
	if job == a.flushJob {
		a.flushJob = nil
	}
	if c := a.cut; c != nil && c.job == job && err == nil {
		a.cutDone(ctx)
	}
	if e := job.Expired(); err == nil && e.Segments > 0 {
		a.deps.Journal.Tell(&journal.Event{
			Kind: journal.SegmentsExpired, Name: a.kept.handle.TP.String(), Segments: e.Segments, Bytes: e.Bytes,
			More: []slog.Attr{slog.String("by", e.By), slog.Int64("log_start", int64(a.log.LogStart()))},
		})
	}
}

// writtenEnd is the end of what counts as written: with flush.messages, appends count once they are synced.
func (a *actor) writtenEnd() model.Offset {
	end := a.log.LogEnd()
	if int64(end-a.log.Flushed()) < a.kept.handle.Config().FlushMessages {
		return end
	}
	return max(a.machine.logEnd, a.log.Flushed())
}

// flushByPolicy starts the flush that flush.messages or flush.ms ask for; one at a time.
func (a *actor) flushByPolicy(ctx *kit.Context) {
	cfg := a.kept.handle.Config()
	behind := int64(a.log.LogEnd() - a.log.Flushed())
	switch {
	case behind == 0 || a.flushJob != nil:
	case behind >= cfg.FlushMessages:
		a.flush(ctx)
	case cfg.FlushAfter > 0 && a.flushTimer == nil:
		a.flushTimer = ctx.After(cfg.FlushAfter, &flushDue{})
	}
}

// flush has one sync on its way at a time: the next one covers all that was written meanwhile (group commit).
func (a *actor) flush(ctx *kit.Context) {
	a.flushTimer = nil
	if a.log == nil || a.flushJob != nil || a.frozen() {
		return
	}
	if a.flushJob = a.log.Flush(); a.flushJob != nil {
		a.run(ctx, a.flushJob)
	}
}
