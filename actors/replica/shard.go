package replica

import (
	"time"

	"troupe/actors/kit"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Host asks a shard to run a replica. The shard answers by Done when the actor is there; its log may still be opening.
type Host struct {
	Handle *Handle
	Lead   *BecomeLeader
	// Fresh says that this broker never had the partition: there is nothing to open.
	Fresh bool
	// The checkpoints of the directory, for a log that was there.
	RecoveryPoint, LogStart, HighWatermark model.Offset
	Clean                                  bool
	// Opened is told when the log was opened, or could not be; nil for a fresh one. It only signals.
	Opened func(partitionlog.Recovery, error)
	Done   func() // called on the shard's goroutine
}

// Drop asks a shard to delete a replica and its files.
type Drop struct {
	Handle *Handle
	Unique model.UUID
}

// CloseAll asks a shard to close every log for a clean shutdown.
type CloseAll struct {
	Done func(failed int) // called once, when the last one is closed
}

// Pace is when maintenance comes round.
type Pace struct {
	First     time.Duration // log.initial.task.delay.ms
	Retention time.Duration // log.retention.check.interval.ms
	Producers time.Duration // producer.id.expiration.check.interval.ms
}

type maintainDue struct{ round Maintain }

// closed is a replica's answer to the shard's Close.
type closed struct{ err error }

func (*Host) MessageKind() string        { return "shard.host" }
func (*Drop) MessageKind() string        { return "shard.drop" }
func (*CloseAll) MessageKind() string    { return "shard.close-all" }
func (*maintainDue) MessageKind() string { return "shard.maintain-due" }
func (*closed) MessageKind() string      { return "shard.closed" }

// Fail counts what the shard could not close.
func (m *CloseAll) Fail(error) { m.Done(1) }

// Shard supervises a part of the broker's replicas, so that no supervisor has ten thousand children and a failing one
// takes few with it. Its code is trivial: what a replica needs after a restart is kept in its durable.
type Shard struct {
	deps *Deps
	pace Pace

	refs map[model.TopicPartition]kit.Ref
	// waiting holds orders for a partition whose earlier incarnation is not gone yet.
	waiting map[model.TopicPartition]*Host
	dropped map[kit.Ref]*Handle

	closing *CloseAll
	open    int
	failed  int
}

// NewShard makes a shard's behavior.
func NewShard(deps *Deps, pace Pace) kit.Behavior {
	return &Shard{
		deps: deps, pace: pace, refs: map[model.TopicPartition]kit.Ref{},
		waiting: map[model.TopicPartition]*Host{}, dropped: map[kit.Ref]*Handle{},
	}
}

// Start begins the rounds of maintenance.
func (s *Shard) Start(ctx *kit.Context) {
	ctx.After(s.pace.First, &maintainDue{Maintain{Retention: true}})
	ctx.After(s.pace.Producers, &maintainDue{Maintain{Producers: true}})
}

// Receive follows orders.
func (s *Shard) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Host:
		s.host(ctx, m)
	case *Drop:
		s.drop(ctx, m)
	case kit.Terminated:
		s.terminated(ctx, m.Actor)
	case kit.GaveUp:
		s.deps.Log.Error("replica keeps failing and is stopped", "actor", m.Actor.Name(), "err", m.Err)
	case *maintainDue:
		s.maintain(ctx, m)
	case *CloseAll:
		s.closeAll(ctx, m)
	case *closed:
		s.closed(m.err)
	}
}

// maintain passes a round on to the replicas and plans the next one.
func (s *Shard) maintain(ctx *kit.Context, m *maintainDue) {
	for _, ref := range s.refs {
		ctx.Send(ref, &m.round)
	}
	if m.round.Retention {
		ctx.After(s.pace.Retention, m)
	} else {
		ctx.After(s.pace.Producers, m)
	}
}

func (s *Shard) host(ctx *kit.Context, m *Host) {
	tp := m.Handle.TP
	if _, there := s.refs[tp]; there {
		s.waiting[tp] = m
		m.Done()
		return
	}
	kept := &durable{
		handle: m.Handle, lead: m.Lead, fresh: m.Fresh, recoveryPoint: m.RecoveryPoint, logStart: m.LogStart,
		highWatermark: m.HighWatermark, clean: m.Clean, opened: m.Opened,
	}
	ref := ctx.Spawn(tp.String(), kit.Props{Kind: "replica", New: func() kit.Behavior { return newActor(s.deps, kept) }})
	s.refs[tp] = ref
	m.Handle.actor.Store(&ref)
	m.Done()
}

func (s *Shard) drop(ctx *kit.Context, m *Drop) {
	ref, there := s.refs[m.Handle.TP]
	if !there || s.dropped[ref] != nil {
		return
	}
	s.dropped[ref] = m.Handle
	ctx.Watch(ref)
	ctx.Send(ref, &Delete{Unique: m.Unique, Done: func() {}})
}

// terminated frees a deleted replica's name for the topic's next incarnation.
func (s *Shard) terminated(ctx *kit.Context, ref kit.Ref) {
	h := s.dropped[ref]
	if h == nil {
		return
	}
	delete(s.dropped, ref)
	delete(s.refs, h.TP)
	if next := s.waiting[h.TP]; next != nil {
		delete(s.waiting, h.TP)
		next.Done = func() {}
		s.host(ctx, next)
	}
}

func (s *Shard) closeAll(ctx *kit.Context, m *CloseAll) {
	s.closing, s.open = m, len(s.refs)
	self := ctx.Self()
	for _, ref := range s.refs {
		ctx.Send(ref, &Close{Done: func(err error) { self.Send(&closed{err}) }})
	}
	if s.open == 0 {
		m.Done(0)
	}
}

func (s *Shard) closed(err error) {
	s.open--
	if err != nil {
		s.failed++
	}
	if s.open == 0 {
		s.closing.Done(s.failed)
	}
}
