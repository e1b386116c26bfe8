// Package cleaner compacts the logs of one log directory: an actor picks the dirtiest log, has a lane of its own rewrite
// its segments, and the log's replica put them in place (facts/storage-format.md 9).
//
//	look ──> lane: measure ──> replica: Survey ──> lane: Map, Next ──> replica: Replace ─┐
//	 ^                                               ^──────────── next group ───────────┤
//	 └───────────────────────── lane: checkpoint <──────────────── no group left ────────┘
package cleaner

import (
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// Deps is what a cleaner works with.
type Deps struct {
	Dir      *disk.Dir
	Replicas *replica.Directory
	Pool     *Pool
	Log      *slog.Logger
	// Ready tells that every log that was found is known: before that a checkpoint would forget the others.
	Ready func() bool
}

// actor runs the cleanings of a directory. It never waits: what takes time is done by its lanes and by the replicas.
//
// Invariants:
//  1. A log has one run at most, and a lane too.
//  2. A run holds its share of the pool from enter to finish.
//  3. The checkpoint of a log moves only when all groups of a cleaning are in place.
type actor struct {
	deps     *Deps
	kept     *durable
	lanes    []kit.Ref
	spawned  int // lanes, those that were given up included
	runs     []*run
	choosing bool // one run is looking for a log
	timer    *kit.Timer
	draining bool
}

// durable is what a cleaner must find again after a panic.
type durable struct {
	loaded bool
	points map[model.TopicPartition]point
	// aside are logs that cannot be cleaned, until the broker starts anew or the topic does.
	aside map[*replica.Handle]bool
}

// point is the first offset of a log that was not cleaned. The topic is zero as long as only the file told of it.
type point struct {
	topic  model.TopicID
	offset model.Offset
}

// New makes the cleaner of a directory.
func New(d *Deps) kit.Props {
	kept := &durable{points: map[model.TopicPartition]point{}, aside: map[*replica.Handle]bool{}}
	return kit.Props{Kind: "cleaner", New: func() kit.Behavior { return &actor{deps: d, kept: kept} }}
}

// Dropped tells that a log was deleted: its checkpoint must not be taken for that of a later topic of the name.
type Dropped struct{ Handle *replica.Handle }

// The answers of lanes and replicas carry the run that asked: one that was ended meanwhile, by a deletion or a restart of
// the actor, is not in the list of runs any more, and its answer is dropped (run.has).
type (
	lookDue struct{}
	loaded  struct {
		points map[model.TopicPartition]model.Offset
		err    error
	}
	// The steps of a run.
	measured  struct{ run *run }
	surveyed  struct{ run *run }
	rewritten struct{ run *run }
	replaced  struct {
		run *run
		err error
	}
	finished struct {
		run *run
		err error
	}
)

func (*Dropped) MessageKind() string   { return "cleaner.dropped" }
func (*lookDue) MessageKind() string   { return "cleaner.look-due" }
func (*loaded) MessageKind() string    { return "cleaner.loaded" }
func (*measured) MessageKind() string  { return "cleaner.measured" }
func (*surveyed) MessageKind() string  { return "cleaner.surveyed" }
func (*rewritten) MessageKind() string { return "cleaner.rewritten" }
func (*replaced) MessageKind() string  { return "cleaner.replaced" }
func (*finished) MessageKind() string  { return "cleaner.finished" }

// Start looks for work at once.
func (a *actor) Start(ctx *kit.Context) { a.look(ctx) }

// Receive goes on with what is under way.
func (a *actor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *lookDue:
		a.timer = nil
		a.look(ctx)
	case *loaded:
		a.loaded(ctx, m)
	case *measured:
		a.measured(ctx, m.run)
	case *surveyed:
		a.surveyed(ctx, m.run)
	case *rewritten:
		a.rewritten(ctx, m.run)
	case *replaced:
		a.replaced(ctx, m)
	case *finished:
		a.finished(ctx, m)
	case *Dropped:
		a.dropped(ctx, m.Handle)
	case kit.GaveUp:
		a.lanes = slices.DeleteFunc(a.lanes, func(l kit.Ref) bool { return l == m.Actor })
		a.deps.Dir.Cleaning.Dead.Add(1)
	}
}

// Crashed lets the lanes come to an end: they end before the next incarnation begins.
func (a *actor) Crashed(error) {
	for _, r := range a.runs {
		r.cancel()
		a.deps.Pool.leave(r.share)
	}
}

// Drain ends the runs, which leave nothing half done.
func (a *actor) Drain(ctx *kit.Context) {
	a.draining = true
	for _, r := range a.runs {
		r.cancel()
	}
	a.leaveWhenIdle(ctx)
}

func (a *actor) leaveWhenIdle(ctx *kit.Context) {
	if a.draining && len(a.runs) == 0 {
		ctx.Drained()
	}
}

func (a *actor) arm(ctx *kit.Context, d time.Duration) {
	if a.timer == nil && !a.draining {
		a.timer = ctx.After(max(d, time.Millisecond), &lookDue{})
	}
}

func (a *actor) path() string { return filepath.Join(a.deps.Dir.Path, checkpoint.CleanerPoints) }

// load reads the checkpoint of the former process.
func (a *actor) load(ctx *kit.Context, lane kit.Ref) {
	self, m, fs, path := ctx.Self(), &loaded{}, a.deps.Dir.Env.FS, a.path()
	ctx.Send(lane, &disk.Task{
		Name: "read " + checkpoint.CleanerPoints,
		Do: func() (err error) {
			m.points, err = checkpoint.ReadOffsets(fs, path)
			return err
		},
		Done: func(err error) {
			m.err = err
			self.Send(m)
		},
	})
}

// loaded: without a checkpoint logs count as dirty from their start, which costs one longer cleaning.
func (a *actor) loaded(ctx *kit.Context, m *loaded) {
	if m.err != nil {
		a.deps.Log.Error("cleaner checkpoint cannot be read; logs are cleaned from their start", "file", a.path(), "err", m.err)
	}
	if !a.kept.loaded {
		for tp, o := range m.points {
			a.kept.points[tp] = point{offset: o}
		}
	}
	a.kept.loaded = true
	a.look(ctx)
}

// cleaned is the checkpoint of a log.
func (a *actor) cleaned(h *replica.Handle) model.Offset {
	p, known := a.kept.points[h.TP]
	if !known || !p.topic.IsZero() && p.topic != h.TopicID {
		return model.NoOffset
	}
	return p.offset
}

// dropped forgets a deleted log, in the file too: a topic of the same name that comes later would be taken for clean up to
// the old one's offset, and its first records would never be compacted.
func (a *actor) dropped(ctx *kit.Context, h *replica.Handle) {
	delete(a.kept.aside, h)
	a.count()
	if a.cleaned(h) == model.NoOffset || !a.kept.loaded || len(a.lanes) == 0 {
		return
	}
	delete(a.kept.points, h.TP)
	ctx.Send(a.lanes[0], a.checkpoint(func(error) {}))
}

// checkpoint makes the task that writes down how far the logs are clean. What is deleted is left out.
func (a *actor) checkpoint(done func(error)) *disk.Task {
	fs, path, points := a.deps.Dir.Env.FS, a.path(), map[model.TopicPartition]model.Offset{}
	for tp, p := range a.kept.points {
		h := a.deps.Replicas.Get(tp)
		if h == nil || h.Dir() != a.deps.Dir || !p.topic.IsZero() && p.topic != h.TopicID {
			continue
		}
		points[tp] = p.offset
	}
	maps.DeleteFunc(a.kept.points, func(tp model.TopicPartition, _ point) bool { _, stays := points[tp]; return !stays })
	return &disk.Task{
		Name: "write " + checkpoint.CleanerPoints,
		Do:   func() error { return checkpoint.WriteOffsets(fs, path, points) },
		Done: done,
	}
}

// count publishes how many logs are set aside.
func (a *actor) count() {
	maps.DeleteFunc(a.kept.aside, func(h *replica.Handle, _ bool) bool { return a.deps.Replicas.Get(h.TP) != h })
	a.deps.Dir.Cleaning.Uncleanable.Store(int64(len(a.kept.aside)))
}
