package cleaner

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/internal/model"
	"troupe/partitionlog"
	"troupe/partitionlog/producer"
)

// run is one cleaning, from the search for a log to its checkpoint. The actor and the lane have it in turns.
type run struct {
	lane    kit.Ref
	share   Share
	cancel  func()
	stopped <-chan struct{}
	began   time.Time

	handle    *replica.Handle // nil until one is found
	cleaned   model.Offset    // before the run
	view      *partitionlog.View
	producers []producer.Entry
	cleaning  *partitionlog.Cleaning
	made      *partitionlog.Replacement
	err       error
}

// candidate is a log that may be dirty.
type candidate struct {
	handle  *replica.Handle
	cleaned model.Offset
}

// look begins as many runs as there are lanes and shares for, one after the other: a log that one has chosen is not
// chosen again.
func (a *actor) look(ctx *kit.Context) {
	cfg := a.deps.Pool.config()
	if a.draining || a.choosing {
		return
	}
	if !a.deps.Ready() {
		a.arm(ctx, readyAfter)
		return
	}
	a.deps.Dir.Cleaning.Looked(ctx.Now())
	candidates := a.candidates()
	if !cfg.Enabled || a.deps.Dir.Err() != nil || len(candidates) == 0 {
		a.arm(ctx, cfg.Backoff)
		return
	}
	lane, free := a.freeLane(ctx, int(cfg.Threads))
	if !free {
		if len(a.runs) == 0 { // log.cleaner.threads is 0 for now
			a.arm(ctx, cfg.Backoff)
		}
		return // the end of a run looks again
	}
	if !a.kept.loaded {
		a.load(ctx, lane)
		return
	}
	share, ok := a.deps.Pool.enter()
	if !ok {
		a.arm(ctx, cfg.Backoff) // cleaners of other directories are at it
		return
	}
	a.choosing = true
	a.measure(ctx, newRun(lane, share, ctx.Now()), candidates)
}

// readyAfter is how often a cleaner asks whether the logs are open.
const readyAfter = time.Second

func newRun(lane kit.Ref, share Share, now time.Time) *run {
	stopped := make(chan struct{})
	return &run{lane: lane, share: share, stopped: stopped, cancel: sync.OnceFunc(func() { close(stopped) }), began: now}
}

// freeLane gives a lane without a run, and makes one when there are fewer than log.cleaner.threads: a lane is a goroutine
// with a disk to wait for, and most directories never need the second. Lanes are not ended when the number is lowered.
func (a *actor) freeLane(ctx *kit.Context, most int) (kit.Ref, bool) {
	for _, l := range a.lanes {
		if !slices.ContainsFunc(a.runs, func(r *run) bool { return r.lane == l }) {
			return l, len(a.runs) < most
		}
	}
	if len(a.lanes) >= most {
		return kit.Ref{}, false
	}
	l := ctx.Spawn(fmt.Sprintf("lane-%d", a.spawned), a.deps.Dir.Props(disk.Cleaner))
	a.spawned++
	a.lanes = append(a.lanes, l)
	return l, true
}

// step has the lane work on a run and tells the actor when it is done.
func (a *actor) step(ctx *kit.Context, r *run, name string, do func() error, done kit.Message) {
	self := ctx.Self()
	ctx.Send(r.lane, &disk.Task{Name: name, Do: do, Done: func(err error) {
		r.err = err
		self.Send(done)
	}})
}

// measure looks for the dirtiest log that is due.
func (a *actor) measure(ctx *kit.Context, r *run, candidates []candidate) {
	a.runs = append(a.runs, r)
	nowMs := ctx.Now().UnixMilli()
	a.step(ctx, r, "look for a dirty log", func() error {
		r.choose(candidates, nowMs, func(h *replica.Handle, err error) {
			a.deps.Log.Warn("log cannot be measured for compaction", "partition", h.TP.String(), "err", err)
		})
		return nil
	}, &measured{r})
}

// candidates lists the compacted logs of the directory that no run has.
func (a *actor) candidates() (out []candidate) {
	for _, h := range a.deps.Replicas.All() {
		busy := slices.ContainsFunc(a.runs, func(r *run) bool { return r.handle == h })
		if h.Dir() == a.deps.Dir && h.Config().Log.Compact && h.View() != nil && !busy && !a.kept.aside[h] {
			out = append(out, candidate{h, a.cleaned(h)})
		}
	}
	return out
}

// choose runs on the lane: it may have to read from the logs.
func (r *run) choose(candidates []candidate, nowMs int64, failed func(*replica.Handle, error)) {
	best := -1.0
	for _, c := range candidates {
		found, err := c.handle.View().Cleanable(c.handle.Config().Log, c.cleaned, nowMs)
		if err != nil {
			if !errors.Is(err, partitionlog.ErrStale) {
				failed(c.handle, err)
			}
			continue
		}
		if found.Due && found.Ratio() > best {
			best, r.handle, r.cleaned = found.Ratio(), c.handle, c.cleaned
		}
	}
}

func (a *actor) has(r *run) bool { return slices.Contains(a.runs, r) }

// measured has the chosen log's replica tell its producers with a view that is flushed: what is cleaned must be on disk, or
// a power cut could take records whose older versions a cleaning has removed.
func (a *actor) measured(ctx *kit.Context, r *run) {
	if !a.has(r) {
		return
	}
	a.choosing = false
	if r.err != nil || r.handle == nil {
		a.end(ctx, r, r.err)
		return
	}
	self := ctx.Self()
	r.handle.Send(&replica.Survey{Done: func(v *partitionlog.View, producers []producer.Entry, err error) {
		r.view, r.producers, r.err = v, producers, err
		self.Send(&surveyed{r})
	}})
	a.look(ctx)
}

// surveyed measures again, on the view that is cleaned: records were appended since the log was chosen. The map of keys and
// the first group are one step of the lane; from then on each group is put in place before the next is made, so that no
// more than one group's worth of disk is taken twice.
func (a *actor) surveyed(ctx *kit.Context, r *run) {
	if !a.has(r) {
		return
	}
	if r.err != nil {
		a.end(ctx, r, r.err)
		return
	}
	cfg, nowMs, pool, counts := a.deps.Pool.config(), ctx.Now().UnixMilli(), a.deps.Pool, &a.deps.Dir.Cleaning
	topic := r.handle.Config().Log
	a.step(ctx, r, "clean "+r.handle.TP.String(), func() error {
		found, err := r.view.Cleanable(topic, r.cleaned, nowMs)
		if err != nil {
			return err
		}
		r.cleaning = r.view.Clean(a.deps.Dir.Env, partitionlog.CleanOptions{
			Config: topic, Range: found.Range, NowMs: nowMs, Producers: r.producers, MapBytes: r.share.MapBytes,
			KeyLoad: cfg.MapLoad, BufferBytes: r.share.BufferBytes,
			Passed: func(n int) error {
				counts.Bytes.Add(int64(n))
				return pool.pass(n, r.stopped)
			},
		})
		if err := r.cleaning.Map(); err != nil {
			return err
		}
		return r.next()
	}, &rewritten{r})
}

// next makes the next group; io.EOF when there is none.
func (r *run) next() (err error) {
	r.made, err = r.cleaning.Next()
	return err
}

// rewritten has the replica put a group in place. After the last one the checkpoint is written, and only then is the run
// over: a run whose checkpoint is lost is merely done again.
func (a *actor) rewritten(ctx *kit.Context, r *run) {
	if !a.has(r) {
		return
	}
	if errors.Is(r.err, io.EOF) {
		a.kept.points[r.handle.TP] = point{r.handle.TopicID, r.cleaning.End()}
		self := ctx.Self()
		ctx.Send(r.lane, a.checkpoint(func(err error) { self.Send(&finished{r, err}) }))
		return
	}
	if r.err != nil {
		a.end(ctx, r, r.err)
		return
	}
	self := ctx.Self()
	r.handle.Send(&replica.Replace{Replacement: r.made, Done: func(err error) { self.Send(&replaced{r, err}) }})
}

// replaced goes on with the next group. A group that the replica could not take, since retention or a deletion came
// first, is thrown away with its files, and the run ends.
func (a *actor) replaced(ctx *kit.Context, m *replaced) {
	r := m.run
	if !a.has(r) {
		return
	}
	if m.err == nil {
		a.step(ctx, r, "clean "+r.handle.TP.String(), r.next, &rewritten{r})
		return
	}
	self, made := ctx.Self(), r.made
	ctx.Send(r.lane, &disk.Task{
		Name: "discard", Do: made.Discard,
		Done: func(err error) { self.Send(&finished{r, errors.Join(m.err, err)}) },
	})
}

func (a *actor) finished(ctx *kit.Context, m *finished) {
	if !a.has(m.run) {
		return
	}
	if m.err == nil {
		took := ctx.Now().Sub(m.run.began)
		a.deps.Dir.Cleaning.Took(took)
		a.deps.Log.Debug("log compacted", "partition", m.run.handle.TP.String(), "upTo", int64(m.run.cleaning.End()), "took", took)
	}
	a.end(ctx, m.run, m.err)
}

// end gives the share back. After a log was cleaned the next one is looked for at once.
func (a *actor) end(ctx *kit.Context, r *run, err error) {
	a.runs = slices.DeleteFunc(a.runs, func(x *run) bool { return x == r })
	a.deps.Pool.leave(r.share)
	r.view, r.cleaning, r.made = nil, nil, nil
	backoff := a.deps.Pool.config().Backoff
	switch {
	case r.handle == nil:
		a.arm(ctx, backoff)
	case err == nil:
		a.look(ctx)
	case passes(err):
		a.deps.Log.Debug("compaction was cut short", "partition", r.handle.TP.String(), "err", err)
		a.arm(ctx, backoff)
	default:
		a.deps.Log.Error("log cannot be compacted and is set aside", "partition", r.handle.TP.String(), "err", err)
		a.kept.aside[r.handle] = true
		a.arm(ctx, backoff)
	}
	a.count()
	a.leaveWhenIdle(ctx)
}

// passes tells the errors that say nothing about the log: it changed meanwhile, or cannot be written to now.
func passes(err error) bool {
	for _, e := range []error{
		errStopped, partitionlog.ErrStale, partitionlog.ErrBusy, partitionlog.ErrPoisoned, replica.ErrStarting,
		kit.ErrStopped, disk.ErrFenced,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return partitionlog.Passes(err)
}
