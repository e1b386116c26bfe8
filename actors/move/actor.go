// Package move copies replicas from one log directory of this broker to another (KIP-113): an actor for each copy, which grows
// beside the log under a name of its own and takes its place when it has everything.
package move

import (
	"log/slog"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/internal/model"
)

// Deps is what the moves of a broker share.
type Deps struct {
	// Quota bounds the copies of all replicas together.
	Quota *throttle.Quota
	Log   *slog.Logger
}

// Begin has a replica moved to another log directory, or to the one that it is in: that ends a move which is under way. The
// same destination again changes nothing.
type Begin struct {
	Handle *replica.Handle
	To     *disk.Dir
	// Path is the directory of a copy that was begun before this start; empty for a new one.
	Path string
}

// Dropped says that a replica is being deleted.
type Dropped struct{ Handle *replica.Handle }

// ended is a mover's last word.
type ended struct{ handle *replica.Handle }

func (*Begin) MessageKind() string   { return "moves.begin" }
func (*Dropped) MessageKind() string { return "moves.dropped" }
func (*ended) MessageKind() string   { return "moves.ended" }

// New makes the `moves` actor, which has a mover for each replica that moves.
func New(d Deps) kit.Props {
	kept := &roster{moves: map[*replica.Handle]*course{}}
	return kit.Props{Kind: "moves", New: func() kit.Behavior { return &supervisor{deps: &d, roster: kept} }}
}

// roster outlives the supervisor's instances, course those of a mover.
type roster struct {
	moves map[*replica.Handle]*course
}

// course is one move.
type course struct {
	handle *replica.Handle
	to     *disk.Dir
	path   string // of the copy
	unique model.UUID
	ref    kit.Ref
	next   *Begin // when this one has given way
	ending bool
}

type supervisor struct {
	deps *Deps
	*roster
}

// Start takes the moves up that ended with the last instance.
func (s *supervisor) Start(ctx *kit.Context) {
	for _, c := range s.moves { // each goes on by itself, in any order
		s.run(ctx, c)
	}
}

// Receive begins moves and ends them.
func (s *supervisor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Begin:
		s.begin(ctx, m)
	case *Dropped:
		if c := s.moves[m.Handle]; c != nil {
			c.next = nil
			s.giveWay(ctx, c)
		}
	case *ended:
		c := s.moves[m.handle]
		delete(s.moves, m.handle)
		if c != nil {
			ctx.Stop(c.ref)
			if c.next != nil {
				s.begin(ctx, c.next)
			}
		}
	case kit.GaveUp:
		s.deps.Log.Error("a move between log directories keeps failing and is stopped", "actor", m.Actor.Name(), "err", m.Err)
		for h, c := range s.moves {
			if c.ref == m.Actor {
				h.SetFuture(nil)
				delete(s.moves, h)
			}
		}
	}
}

func (s *supervisor) begin(ctx *kit.Context, m *Begin) {
	switch c := s.moves[m.Handle]; {
	case c != nil && c.to == m.To && !c.ending:
	case c != nil:
		c.next = m
		s.giveWay(ctx, c)
	case m.Handle.Dir() == m.To:
	default:
		c := &course{handle: m.Handle, to: m.To, path: m.Path, unique: model.RandomUUID()}
		if c.path == "" {
			c.path = futurePath(m.Handle, m.To, c.unique)
		}
		s.moves[m.Handle] = c
		s.run(ctx, c)
	}
}

func (s *supervisor) giveWay(ctx *kit.Context, c *course) {
	if !c.ending {
		c.ending = true
		ctx.Send(c.ref, &giveUp{})
	}
}

func (s *supervisor) run(ctx *kit.Context, c *course) {
	deps := s.deps
	c.ref = ctx.Spawn(c.handle.TP.String()+"@"+c.unique.String(), kit.Props{Kind: "mover", New: func() kit.Behavior { return &mover{deps: deps, course: c} }})
	if c.ending {
		ctx.Send(c.ref, &giveUp{})
	}
}
