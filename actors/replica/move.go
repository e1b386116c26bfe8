package replica

import (
	"errors"
	"io/fs"
	"path/filepath"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// freezing is a log that is being replaced by its copy in another log directory (KIP-113). The former log loses its name
// first, then the copy gets it; between the two a start finds the copy by its mark (partitionlog/move.go).
type freezing struct {
	asked   *Freeze // nil for none
	granted bool
	swap    *Swap             // under way
	unname  *partitionlog.Job // of the former log
	name    *partitionlog.Job // of the copy
}

// swapping outlives the instance: where a log is that was being moved is found out before it is opened.
type swapping struct {
	from, to *disk.Dir
	future   string // the copy's directory before it has the name
	gone     bool   // the name is not in from any more
}

func (a *actor) frozen() bool { return a.freezing.asked != nil }

// freeze takes nothing in from now on; it is granted when all that is under way has ended.
func (a *actor) freeze(m *Freeze) {
	if a.log == nil || a.frozen() || a.kept.ending.asked() {
		m.Done(model.NoOffset, ErrStarting)
		return
	}
	a.freezing.asked = m
	a.surveying.answer(ErrStarting)
	a.replacing.dismiss(ErrStarting)
}

// grantFreeze is asked at the end of each batch of messages.
func (a *actor) grantFreeze(ctx *kit.Context) {
	f := &a.freezing
	if f.asked == nil || f.granted || !a.quiet() {
		return
	}
	f.granted = true
	ctx.After(f.asked.Within, &freezeOver{f.asked})
	f.asked.Done(a.log.LogEnd(), nil)
}

func (a *actor) quiet() bool {
	return a.log != nil && a.outstanding == 0 && len(a.appends) == 0 && a.cut == nil && a.replacing.job == nil && !a.log.Busy()
}

// swap is refused where the freeze is over: the log may have more than the copy by now.
func (a *actor) swap(ctx *kit.Context, m *Swap) {
	f, h := &a.freezing, a.kept.handle
	if !f.granted || f.swap != nil || !a.quiet() || a.kept.ending.asked() || h.Dir().Err() != nil || m.Log.LogEnd() != a.log.LogEnd() {
		m.Done(ErrStarting)
		return
	}
	f.swap = m
	a.kept.swapping = &swapping{from: h.Dir(), to: m.To, future: m.Log.Dir()}
	f.unname = a.log.Delete(m.Unique)
	a.run(ctx, f.unname)
}

// swapStep goes on when a job of the swap has ended well.
func (a *actor) swapStep(ctx *kit.Context, job *partitionlog.Job) {
	f, h := &a.freezing, a.kept.handle
	switch {
	case f.swap == nil:
	case job == f.unname:
		a.kept.swapping.gone = true
		h.dir.Store(f.swap.To) // whatever becomes of it now, the log is there
		f.name = f.swap.Log.MoveTo(logDir(h))
		a.run(ctx, f.name)
	case job == f.name:
		a.swapped(ctx)
	}
}

// swapped goes on with the copy. The machine stays: the log is the same to everybody else.
func (a *actor) swapped(ctx *kit.Context) {
	m, h, former := a.freezing.swap, a.kept.handle, a.log
	ctx.Send(ctx.Parent(), &movedAway{h, a.kept.swapping.from, former.Dir()})
	a.kept.swapping = nil
	a.log = m.Log
	a.log.SetConfig(h.Config().Log)
	a.log.SetHighWatermark(former.HighWatermark())
	if err := a.log.DeleteRecordsTo(former.LogStart()); err != nil {
		a.deps.Log.Error("log start is not that of before the move", "partition", h.TP.String(), "err", err)
	}
	if epoch, leading := a.machine.Leading(); leading {
		a.log.AssignEpoch(epoch)
	}
	a.changed, a.moved = true, true
	a.publish()
	a.freezing.swap = nil
	m.Done(nil)
	if a.deps.Moved != nil {
		a.deps.Moved(h)
	}
	a.unfreeze(ctx, nil)
}

// thaw ends a freeze that is given up, or took too long; a swap that has begun goes to its end.
func (a *actor) thaw(ctx *kit.Context, m *Freeze) {
	if a.freezing.asked == m && a.freezing.swap == nil {
		a.unfreeze(ctx, nil)
	}
}

// unfreeze goes on with what came meanwhile. With an error the log is gone, and whoever moves it is told.
func (a *actor) unfreeze(ctx *kit.Context, err error) {
	f := a.freezing
	a.freezing = freezing{}
	if f.asked == nil {
		return
	}
	if !f.granted && err != nil {
		f.asked.Done(model.NoOffset, err)
	}
	if f.swap != nil {
		f.swap.Log.Abandon()
		f.swap.Done(err)
	}
	if err != nil {
		return
	}
	a.following.due = a.following.due || a.following.told
	a.followMarks()
	stalled := a.stalled
	a.stalled = nil
	for _, s := range stalled {
		a.append(ctx, s)
	}
}

// findName asks the directory from which the log was being moved whether it is there. The directory's lanes have done all that
// was asked of them before they come to it.
func (a *actor) findName(ctx *kit.Context) {
	s, self, h := a.kept.swapping, ctx.Self(), a.kept.handle
	a.opening = true
	res := &foundName{incarnation: ctx.Incarnation()}
	ctx.Send(s.from.BulkLane(h.TP), &disk.Task{
		Name: "look for " + h.TP.String(),
		Do: func() error {
			_, err := s.from.Env.FS.Stat(filepath.Join(s.from.Path, h.TP.String()))
			if res.there = err == nil; errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		},
		Done: func(err error) {
			res.err = err
			self.Send(res)
		},
	})
}

func (a *actor) foundName(ctx *kit.Context, m *foundName) {
	if m.incarnation != ctx.Incarnation() {
		return
	}
	a.opening = false
	s, h := a.kept.swapping, a.kept.handle
	switch {
	case m.err != nil:
		a.openFailed(ctx, m.err)
		return
	case m.there:
		a.kept.swapping = nil
	default:
		s.gone = true
		h.dir.Store(s.to)
	}
	a.open(ctx)
}

// Future tells of a copy of this replica that is to replace it; nil for none.
func (h *Handle) Future() *Future { return h.future.Load() }

// SetFuture is for whoever makes the copy.
func (h *Handle) SetFuture(f *Future) { h.future.Store(f) }
