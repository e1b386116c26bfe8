// Package move copies replicas from one log directory of this broker to another (KIP-113): an actor for each copy, which grows
// beside the log under a name of its own and takes its place when it has everything.
package move

import (
	"errors"
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
	// Assign has the metadata name the directory to which a replica is about to move, while its Future says so, and tells once when
	// it does, or that it does not. It may be answered on any goroutine.
	Assign func(h *replica.Handle, to *disk.Dir, done func(error))
	// Stays is told that a replica does not move, for which Assign may have been asked.
	Stays func(h *replica.Handle)
}

// errDropped answers who asked for a move of a replica that is being deleted.
var errDropped = errors.New("the replica is being deleted")

// Begin has a replica moved to another log directory, or to the one that it is in: that ends a move which is under way. The
// same destination again changes nothing.
type Begin struct {
	Handle *replica.Handle
	To     *disk.Dir
	// Path is the directory of a copy that was begun before this start; empty for a new one.
	Path string
	// Done is called once when what was asked for is shown: the copy has its directory, or that of an ended move is gone. With an
	// error there is none. It may be nil.
	Done func(error)
}

// Fail answers where nobody else will.
func (m *Begin) Fail(err error) { m.answer(err) }

func (m *Begin) answer(err error) {
	if done := m.Done; done != nil {
		m.Done = nil
		done(err)
	}
}

// Dropped says that a replica is being deleted.
type Dropped struct{ Handle *replica.Handle }

type (
	// shown tells that a copy has its directory.
	shown struct{ handle *replica.Handle }
	// ended is a mover's last word, with what the move failed of.
	ended struct {
		handle *replica.Handle
		err    error
	}
)

func (*Begin) MessageKind() string   { return "moves.begin" }
func (*Dropped) MessageKind() string { return "moves.dropped" }
func (*shown) MessageKind() string   { return "moves.shown" }
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
	asked  []*Begin // to be answered when the copy is shown
	shown  bool
	next   *Begin // when this one has given way
	ending bool
	// dropped tells that the replica is being deleted.
	dropped bool
	// lent is set from when the replica may begin with the copy until it is known that it has not: nobody else touches the files.
	lent bool
}

// answer tells those who asked for this move.
func (c *course) answer(err error) {
	asked := c.asked
	c.asked = nil
	for _, m := range asked {
		m.answer(err)
	}
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
			s.supersede(c, nil, errDropped)
			c.dropped = true
			s.giveWay(ctx, c)
		}
	case *shown:
		if c := s.moves[m.handle]; c != nil {
			c.shown = true
			c.answer(nil)
		}
	case *ended:
		s.ended(ctx, m)
	case kit.GaveUp:
		s.deps.Log.Error("a move between log directories keeps failing and is stopped", "actor", m.Actor.Name(), "err", m.Err)
		for h, c := range s.moves {
			if c.ref == m.Actor {
				h.SetFuture(nil)
				s.deps.Stays(h)
				delete(s.moves, h)
				c.answer(m.Err)
				s.supersede(c, nil, m.Err)
			}
		}
	}
}

// Stopped answers who still waits.
func (s *supervisor) Stopped(*kit.Context) {
	for _, c := range s.moves {
		c.answer(kit.ErrStopped)
		s.supersede(c, nil, kit.ErrStopped)
	}
}

func (s *supervisor) begin(ctx *kit.Context, m *Begin) {
	switch c := s.moves[m.Handle]; {
	case c != nil && c.to == m.To && !c.ending:
		if c.asked = append(c.asked, m); c.shown {
			c.answer(nil)
		}
	case c != nil:
		s.supersede(c, m, nil)
		s.giveWay(ctx, c)
	case m.Handle.Dir() == m.To:
		m.answer(nil)
	default:
		c := &course{handle: m.Handle, to: m.To, path: m.Path, unique: model.RandomUUID(), asked: []*Begin{m}}
		if c.path == "" {
			c.path = futurePath(m.Handle, m.To, c.unique)
		}
		s.moves[m.Handle] = c
		s.run(ctx, c)
	}
}

// ended goes on with what was asked for meanwhile. Who asked for a move that gave way to another has had an answer to it.
func (s *supervisor) ended(ctx *kit.Context, m *ended) {
	c := s.moves[m.handle]
	delete(s.moves, m.handle)
	if c == nil {
		return
	}
	ctx.Stop(c.ref)
	c.answer(m.err)
	if next := c.next; next != nil {
		c.next = nil
		s.begin(ctx, next)
	}
}

// supersede replaces what is to come after a move.
func (s *supervisor) supersede(c *course, next *Begin, err error) {
	if c.next != nil {
		c.next.answer(err)
	}
	c.next = next
}

func (s *supervisor) giveWay(ctx *kit.Context, c *course) {
	if !c.ending || c.dropped {
		c.ending = true
		ctx.Send(c.ref, &giveUp{c.dropped})
	}
}

func (s *supervisor) run(ctx *kit.Context, c *course) {
	deps := s.deps
	c.ref = ctx.Spawn(c.handle.TP.String()+"@"+c.unique.String(), kit.Props{Kind: "mover", New: func() kit.Behavior { return &mover{deps: deps, course: c} }})
	if c.ending {
		ctx.Send(c.ref, &giveUp{c.dropped})
	}
}
