package broker

import (
	"fmt"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
)

// warden hears of log directories that failed, which may end the broker, and of those that have no room.
type warden struct {
	broker *Broker
	short  map[*disk.Dir]*shortage
}

// shortage is a time in which a directory refuses work, from the first refusal on. It is told in few lines, however many
// logs meet it.
type shortage struct {
	began  time.Time
	before int64     // of the directory's Refused
	seen   int64     // of Refused, at the last look
	moved  time.Time // when it last rose
	told   time.Time
}

// shortageDue is the next look at a directory that refused work.
type shortageDue struct{ dir *disk.Dir }

// eraDue is the next try to take away the mark of a directory that failed.
type eraDue struct {
	path string
	told bool // that one failed
}

func (*shortageDue) MessageKind() string { return "warden.shortage-due" }
func (*eraDue) MessageKind() string      { return "warden.era-due" }

const (
	// shortageLook is how often a shortage is looked at, and how long nothing must be refused before it is over.
	shortageLook = 10 * time.Second
	// shortageTell is how often one that lasts is told of.
	shortageTell = time.Minute
	// shortageForget ends one in which nobody has tried to write again: replicas try at least once a minute.
	shortageForget = 2 * time.Minute
	// eraAgain is the time between two tries: a disk that refuses everything may come back.
	eraAgain = 10 * time.Second
)

// Receive hears what the lanes tell.
func (w *warden) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *disk.Fenced:
		w.fenced(ctx, m)
	case *eraDue:
		w.forget(ctx, m)
	case *disk.Short:
		w.refused(ctx, m)
	case *shortageDue:
		w.look(ctx, m)
	}
}

// fenced lets the broker go on with the directories that are left. Without the metadata log it cannot follow the cluster,
// and without any directory it has nothing to serve.
func (w *warden) fenced(ctx *kit.Context, f *disk.Fenced) {
	b := w.broker
	b.log.Error("log directory is offline", "dir", f.Dir.Path, "err", f.Err)
	w.forget(ctx, &eraDue{path: f.Dir.Path})
	if f.Dir == b.metadataDir {
		b.fail(fmt.Errorf("the directory of the metadata log, %s, failed: %w", f.Dir.Path, f.Err))
		return
	}
	for _, d := range b.dirs {
		if d.Err() == nil {
			b.refs.lifecycle.Send(&directoryFailed{})
			return
		}
	}
	b.fail(fmt.Errorf("every log directory failed; the last was %s: %w", f.Dir.Path, f.Err))
}

// forget tries until the mark is gone: a disk that fails takes no removals either.
func (w *warden) forget(ctx *kit.Context, m *eraDue) {
	err := w.broker.forgetEra(m.path)
	if err == nil {
		return
	}
	if !m.told {
		m.told = true
		w.broker.log.Error("log directory would still look sound to the next start, tried again until the end", "dir", m.path, "err", err)
	}
	ctx.After(eraAgain, m)
}

// refused begins a shortage. What comes while one is told of is part of it.
func (w *warden) refused(ctx *kit.Context, m *disk.Short) {
	if w.short[m.Dir] != nil {
		return // some writes pass in between
	}
	if w.short == nil {
		w.short = map[*disk.Dir]*shortage{}
	}
	now := ctx.Now()
	w.short[m.Dir] = &shortage{began: now, moved: now, told: now, before: m.Before}
	w.broker.log.Error("log directory has no room: what needs it is refused and tried again", "dir", m.Dir.Path, "err", m.Err)
	w.broker.refs.lifecycle.Send(&shortageTold{dir: m.Dir.Path})
	ctx.After(shortageLook, &shortageDue{m.Dir})
}

// look ends a shortage when nothing was refused for a while and something was appended since; without an append nobody knows,
// and after shortageForget nobody asks.
func (w *warden) look(ctx *kit.Context, m *shortageDue) {
	s, now, total := w.short[m.dir], ctx.Now(), m.dir.Refused()
	if total != s.seen {
		s.seen, s.moved = total, now
	}
	quiet := now.Sub(s.moved)
	switch {
	case quiet >= shortageLook && !m.dir.Short() || quiet >= shortageForget:
		w.broker.log.Info("log directory has room again", "dir", m.dir.Path, "refused", total-s.before, "for", now.Sub(s.began).Round(time.Second).String())
		delete(w.short, m.dir)
		w.broker.refs.lifecycle.Send(&shortageTold{dir: m.dir.Path, over: true})
		return
	case now.Sub(s.told) >= shortageTell && s.moved.After(s.told):
		s.told = now
		w.broker.log.Warn("log directory still has no room", "dir", m.dir.Path, "refused", total-s.before, "for", now.Sub(s.began).Round(time.Second).String())
	}
	ctx.After(shortageLook, m)
}
