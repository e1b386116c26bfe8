package replica

import (
	"errors"
	"maps"
	"slices"
	"time"

	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// shard supervises a part of the broker's replicas, so that no supervisor has ten thousand children and a failing one
// takes few with it. When it is restarted its children go with it; the roster tells whom to start again.
type shard struct {
	deps   *Deps
	pace   Pace
	roster *roster
}

// roster is what outlives the instances of a shard; its goroutine's alone.
type roster struct {
	hosted  map[model.TopicPartition]*hosted
	unlinks map[string]*unlinkDue // directories of deleted logs, by path
	closing *CloseAll
	open    int // logs that are not closed yet
	failed  int
}

// hosted is a replica that runs, or shall run again.
type hosted struct {
	kept *durable
	ref  kit.Ref
	// dropped is the order to delete it; next is the topic's next incarnation, which waits for the name and the directory.
	dropped  *Drop
	next     *Host
	gone     bool // the actor has ended
	clearing bool // its files still stand in the way
	// unclosed is set from the order to close until it is closed, or gone.
	unclosed bool
}

// inOrder lists the replicas in one order, so that a run can be repeated.
func (r *roster) inOrder() []*hosted {
	return slices.SortedFunc(maps.Values(r.hosted), func(a, b *hosted) int { return a.kept.handle.TP.Compare(b.kept.handle.TP) })
}

// NewShard makes a shard that is the same in all its incarnations.
func NewShard(deps *Deps, pace Pace) kit.Props {
	r := &roster{hosted: map[model.TopicPartition]*hosted{}, unlinks: map[string]*unlinkDue{}}
	return kit.Props{Kind: "shard", New: func() kit.Behavior { return &shard{deps: deps, pace: pace, roster: r} }}
}

// Start begins the rounds of maintenance, and after a panic the replicas.
func (s *shard) Start(ctx *kit.Context) {
	ctx.After(s.pace.First, &maintainDue{Maintain{Retention: true}})
	ctx.After(s.pace.Producers, &maintainDue{Maintain{Producers: true}})
	if ctx.Incarnation() == 1 {
		return
	}
	for _, m := range s.roster.unlinks {
		ctx.After(m.delay, m)
	}
	for _, h := range s.roster.hosted {
		switch {
		case h.gone:
		case h.dropped != nil && h.kept.ending.delete == nil: // it ended, or never heard of the order
			h.gone, h.clearing = true, true
			s.clear(ctx, h.kept.handle)
		default:
			s.run(ctx, h)
		}
	}
}

// Receive follows orders.
func (s *shard) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Host:
		s.host(ctx, m)
	case *Order:
		s.order(ctx, m)
	case *Drop:
		s.drop(ctx, m)
	case *removed:
		s.removed(ctx, m)
	case *cleared:
		s.cleared(ctx, m.handle)
	case *unlinkDue:
		s.unlink(ctx, m)
	case *movedAway:
		s.unlinkLater(ctx, m.handle, m.dir, m.path)
	case kit.Terminated:
		s.terminated(ctx, m.Actor)
	case kit.GaveUp:
		s.gaveUp(m)
	case *maintainDue:
		s.maintain(ctx, m)
	case *RecheckAll:
		for _, h := range s.roster.inOrder() {
			ctx.Send(h.ref, &Recheck{})
		}
	case *CloseAll:
		s.closeAll(ctx, m)
	case *closed:
		s.closed(m.hosted, m.err)
	}
}

// maintain passes a round on to the replicas and plans the next one.
func (s *shard) maintain(ctx *kit.Context, m *maintainDue) {
	for _, h := range s.roster.hosted {
		ctx.Send(h.ref, &m.round)
	}
	if m.round.Retention {
		ctx.After(s.pace.Retention, m)
	} else {
		ctx.After(s.pace.Producers, m)
	}
}

// host starts a replica, or keeps it in mind until the one before it under the name is gone. A fresh one is answered for
// when its view is published, so that a client that is told of the topic can write to it at once; one with files only
// when its actor is there, since opening may take minutes.
func (s *shard) host(ctx *kit.Context, m *Host) {
	tp := m.Handle.TP
	switch h := s.roster.hosted[tp]; {
	case s.roster.closing != nil && m.Fresh: // nobody would close it
	case h == nil:
		h = &hosted{kept: &durable{
			handle: m.Handle, role: role{m.Lead, m.Follow}, fresh: m.Fresh, recoveryPoint: m.RecoveryPoint, logStart: m.LogStart,
			highWatermark: m.HighWatermark, cleaned: m.Cleaned, clean: m.Clean, kept: m.Kept, opened: m.Opened,
		}}
		s.roster.hosted[tp] = h
		if m.Fresh { // its view is there before anybody hears of the topic
			done := m.Done
			h.kept.opened = func(partitionlog.Recovery, error) { done() }
			s.run(ctx, h)
			return
		}
		if m.Copy != "" {
			h.kept.swapping = &swapping{to: m.Handle.Dir(), future: m.Copy, gone: true}
		}
		m.Handle.found.Store(&Checkpoint{m.RecoveryPoint, m.LogStart, m.HighWatermark})
		s.run(ctx, h)
	case h.kept.handle != m.Handle:
		h.next = m
	}
	m.Done()
}

func (s *shard) run(ctx *kit.Context, h *hosted) {
	deps, kept := s.deps, h.kept
	h.ref = ctx.Spawn(kept.handle.TP.String(), kit.Props{Kind: "replica", New: func() kit.Behavior { return newActor(deps, kept) }})
	ref, self := h.ref, ctx.Self()
	kept.handle.actor.Store(&ref)
	kept.handle.shard.Store(&self)
	if h.dropped != nil {
		ctx.Watch(h.ref)
	}
}

// order reaches the replica, or changes how the next one is to begin.
func (s *shard) order(ctx *kit.Context, m *Order) {
	h := s.roster.hosted[m.Handle.TP]
	switch {
	case h == nil:
	case h.kept.handle == m.Handle:
		ctx.Send(h.ref, m.Message)
	case h.next != nil && h.next.Handle == m.Handle:
		if order, ok := m.Message.(*Configure); ok {
			m.Handle.config.Store(order.Config)
			return
		}
		next := role{h.next.Lead, h.next.Follow}.ordered(m.Message)
		h.next.Lead, h.next.Follow = next.lead, next.follow
	}
}

// drop has the actor rename its files and end. The name is free for the topic's next incarnation when both have happened
// (free), whichever comes first.
func (s *shard) drop(ctx *kit.Context, m *Drop) {
	h := s.roster.hosted[m.Handle.TP]
	switch {
	case h == nil:
	case h.next != nil && h.next.Handle == m.Handle:
		h.next = nil // it never ran
	case h.kept.handle == m.Handle && h.dropped == nil:
		h.dropped = m
		if s.deps.Dropped != nil {
			s.deps.Dropped(m.Handle)
		}
		self := ctx.Self()
		ctx.Send(h.ref, &Delete{Unique: m.Unique, Done: func(r Removal) { self.Send(&removed{m.Handle, r}) }})
		ctx.Watch(h.ref)
	}
}

// removed sees to the files of a deleted log: those that were set aside are unlinked after file.delete.delay.ms, those
// that still have the topic's name at once, before its next incarnation finds them.
func (s *shard) removed(ctx *kit.Context, m *removed) {
	h := s.roster.hosted[m.handle.TP]
	if m.removal.Err == nil {
		s.unlinkLater(ctx, m.handle, m.handle.Dir(), m.removal.Path)
		return
	}
	if h == nil || h.kept.handle != m.handle || h.clearing {
		return
	}
	h.clearing = true
	s.clear(ctx, m.handle)
}

func (s *shard) unlinkLater(ctx *kit.Context, h *Handle, dir *disk.Dir, path string) {
	due := &unlinkDue{h, dir, path, time.Duration(h.Config().Log.FileDeleteDelayMs) * time.Millisecond}
	s.roster.unlinks[due.path] = due
	ctx.After(due.delay, due)
}

func (s *shard) clear(ctx *kit.Context, h *Handle) {
	self := ctx.Self()
	s.removeFiles(ctx, h, h.Dir(), logDir(h), false, func() { self.Send(&cleared{h}) })
}

func (s *shard) unlink(ctx *kit.Context, m *unlinkDue) {
	delete(s.roster.unlinks, m.path)
	s.removeFiles(ctx, m.handle, m.dir, m.path, true, func() {})
}

// removeFiles is deferrable for a directory whose name says that it is deleted: a start removes those.
func (s *shard) removeFiles(ctx *kit.Context, h *Handle, dir *disk.Dir, path string, deferrable bool, then func()) {
	log, told := s.deps.Log, s.deps.Journal
	ctx.Send(dir.BulkLane(h.TP), &disk.Task{
		Name: "remove " + path, Deferrable: deferrable,
		Do: partitionlog.RemoveDirectory(dir.Env, path).Run,
		Done: func(err error) {
			switch {
			case errors.Is(err, disk.ErrPutOff):
			case err != nil:
				log.Error("files of a deleted log cannot be removed", "dir", path, "err", err)
			default:
				told.Tell(&journal.Event{Kind: journal.LogDeleted, Name: h.TP.String(), Bytes: h.Size()})
			}
			then()
		},
	})
}

func (s *shard) cleared(ctx *kit.Context, handle *Handle) {
	if h := s.roster.hosted[handle.TP]; h != nil && h.kept.handle == handle {
		h.clearing = false
		s.free(ctx, h)
	}
}

// terminated comes of deleted replicas.
func (s *shard) terminated(ctx *kit.Context, ref kit.Ref) {
	for _, h := range s.roster.hosted {
		if h.ref == ref {
			h.gone = true
			s.free(ctx, h)
			return
		}
	}
}

// free gives a deleted replica's name to the topic's next incarnation.
func (s *shard) free(ctx *kit.Context, h *hosted) {
	if !h.gone || h.clearing {
		return
	}
	delete(s.roster.hosted, h.kept.handle.TP)
	if next := h.next; next != nil && s.roster.closing == nil {
		next.Done = func() {}
		s.host(ctx, next)
	}
	s.closed(h, nil)
}

// gaveUp leaves the replica's partition offline. What was asked of it is answered here.
func (s *shard) gaveUp(m kit.GaveUp) {
	s.deps.Log.Error("replica keeps failing and is stopped", "actor", m.Actor.Name(), "err", m.Err)
	for _, h := range s.roster.hosted {
		if h.ref == m.Actor {
			h.kept.settle(m.Err)
			return
		}
	}
}

// closeAll counts down the logs, those under deletion with them: the stop waits for their renames, not for their unlinks.
func (s *shard) closeAll(ctx *kit.Context, m *CloseAll) {
	s.roster.closing, s.roster.open = m, len(s.roster.hosted)
	self := ctx.Self()
	for _, h := range s.roster.hosted {
		h.unclosed = true
		if h.dropped == nil { // those that are being deleted end by themselves
			ctx.Send(h.ref, &Close{Done: func(err error) { self.Send(&closed{h, err}) }})
		}
	}
	if s.roster.open == 0 {
		m.Done(0)
	}
}

// closed counts each once: one that is closed may be deleted before the others are.
func (s *shard) closed(h *hosted, err error) {
	r := s.roster
	if !h.unclosed {
		return
	}
	h.unclosed = false
	r.open--
	if err != nil {
		r.failed++
	}
	if r.open == 0 {
		r.closing.Done(r.failed)
	}
}
