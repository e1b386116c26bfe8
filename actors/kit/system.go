package kit

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/trace"
	"troupe/internal/clock"
	"troupe/internal/invariant"
)

// Options of a System. The zero value runs on the machine's clock, silent and untraced.
type Options struct {
	Clock clock.Clock
	Log   *slog.Logger
	Trace *trace.Tracer
	// Dispatcher runs the actors step by step on the test's goroutine; nil runs each on goroutines.
	Dispatcher *Deterministic
	// OnGiveUp is told of an actor at the top of the tree that is given up; the broker ends the process then.
	OnGiveUp func(GaveUp)
}

// System is one tree of actors. Its methods are safe for concurrent use.
type System struct {
	clock      clock.Clock
	log        *slog.Logger
	tracer     *trace.Tracer
	stepwise   *Deterministic
	workers    *pool
	onGiveUp   func(GaveUp)
	proto      *actor.ActorSystem
	supervisor *strategy

	mu      sync.Mutex
	cells   map[string]*cell
	kinds   map[string]*kindStats
	spawned uint64
}

// NewSystem makes an empty tree.
func NewSystem(o Options) *System {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trace == nil {
		o.Trace = trace.New(trace.Options{Clock: o.Clock})
	}
	if o.OnGiveUp == nil {
		o.OnGiveUp = func(GaveUp) {}
	}
	s := &System{
		clock: o.Clock, log: o.Log, tracer: o.Trace, stepwise: o.Dispatcher, workers: &pool{}, onGiveUp: o.OnGiveUp,
		cells: make(map[string]*cell), kinds: make(map[string]*kindStats),
	}
	s.supervisor = &strategy{s}
	// What protoactor would log the kit logs itself, with more to it.
	quiet := func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
	// It counts orders to actors that have ended, for that log, on a goroutine that it keeps for the interval: a second, otherwise.
	s.proto = actor.NewActorSystem(actor.WithLoggerFactory(quiet), actor.WithDeadLetterThrottleInterval(time.Nanosecond))
	// Protoactor's registry is made of 32,768 maps, 2.8 MiB when empty. It is asked only when an actor starts or ends
	// and for orders, so 32 of them serve; what was registered till now is never asked for by name.
	registry := s.proto.ProcessRegistry.LocalPIDs
	registry.LocalPIDs = slices.Clone(registry.LocalPIDs[:1])
	return s
}

// Spawn starts an actor at the top of the tree. The name must be free.
func (s *System) Spawn(name string, p Props) Ref { return s.spawn(nil, name, name, p) }

// Stop asks an actor to drain and stop; see Context.Stop. The channel is closed when it has stopped.
func (s *System) Stop(r Ref) <-chan struct{} {
	done := r.cell.stopDone()
	r.cell.askToStop()
	return done
}

// Shutdown stops the actors at the top of the tree, youngest first, each when the one before has stopped. It returns
// the context's error if that ends first; the rest runs on then.
func (s *System) Shutdown(ctx context.Context) error {
	for _, c := range s.top() {
		select {
		case <-s.Stop(Ref{c}):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.proto.Shutdown()
	s.workers.close()
	return nil
}

// Find gives the actor of that full name.
func (s *System) Find(name string) (Ref, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.cells[name]
	return Ref{c}, ok
}

// Trace gives what records the messages of all actors: the console reads spans from it and sets what is sampled.
func (s *System) Trace() *trace.Tracer { return s.tracer }

// Clock gives the time that timers and restarts go by; in tests it stands still.
func (s *System) Clock() clock.Clock { return s.clock }

func (s *System) spawn(parent *cell, path, name string, p Props) Ref {
	invariant.Check(p.Kind != "" && p.New != nil, "props of actor %s lack kind or New", path)
	c := &cell{system: s, tracer: s.tracer, parent: parent, name: path, props: &p, sampled: true}
	c.process = c.run
	s.enter(c)
	props := actor.PropsFromProducer(func() actor.Actor { return shell{c} },
		actor.WithMailbox(func() actor.Mailbox { return c }),
		actor.WithDispatcher(s.dispatcherFor(p)),
		actor.WithSupervisor(s.supervisor))
	var err error
	if parent == nil {
		_, err = s.proto.Root.SpawnNamed(props.Configure(actor.WithGuardian(s.supervisor)), name)
	} else {
		if parent.children == nil {
			parent.children = make(map[string]*cell)
		}
		parent.children[path] = c
		_, err = parent.shell.SpawnNamed(props, name)
	}
	invariant.Check(err == nil, "actor %s cannot be spawned: %v", path, err)
	return Ref{c}
}

func (s *System) enter(c *cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	invariant.Check(s.cells[c.name] == nil, "actor name %s is taken", c.name)
	s.spawned++
	c.order = s.spawned
	k := s.kinds[c.props.Kind]
	if k == nil {
		k = &kindStats{name: c.props.Kind}
		s.kinds[k.name] = k
	}
	c.kind = k
	s.cells[c.name] = c
}

func (s *System) forget(c *cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cells, c.name)
	c.kind.retire(c)
}

// top lists the actors without parent, youngest first.
func (s *System) top() []*cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	var top []*cell
	for _, c := range s.cells {
		if c.parent == nil {
			top = append(top, c)
		}
	}
	slices.SortFunc(top, func(a, b *cell) int { return int(b.order) - int(a.order) })
	return top
}

func (s *System) logPanic(err *PanicError, then string, more ...any) {
	s.log.Error("actor panicked", append([]any{
		"actor", err.Actor, "message", err.Message, "panic", err.Value, "then", then, "stack", string(err.Stack),
	}, more...)...)
}
