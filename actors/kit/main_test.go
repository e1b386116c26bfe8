package kit_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/internal/clock"
)

// patience bounds every wait: only a hang meets it.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a system whose order of events comes from a seed and whose time stands still until the test moves it.
type stage struct {
	*kit.System
	t      *testing.T
	clock  *clock.Manual
	order  *kit.Deterministic
	tracer *trace.Tracer
	gaveUp []kit.GaveUp
}

func newStage(t *testing.T, seed uint64) *stage {
	s := &stage{t: t, clock: clock.NewManual(time.Unix(1000, 0)), order: kit.NewDeterministic(seed)}
	s.tracer = trace.New(trace.Options{Clock: s.clock, Broker: 7, Seed: seed})
	s.System = kit.NewSystem(kit.Options{
		Clock: s.clock, Dispatcher: s.order, Trace: s.tracer,
		OnGiveUp: func(g kit.GaveUp) { s.gaveUp = append(s.gaveUp, g) },
	})
	return s
}

// settle runs until nobody has anything to do.
func (s *stage) settle() {
	s.t.Helper()
	const limit = 100_000
	if s.order.Run(limit) == limit {
		s.t.Fatal("the actors never come to rest")
	}
}

// settleStopped stops the actor and checks that it has stopped.
func (s *stage) settleStopped(r kit.Ref) {
	s.t.Helper()
	done := s.Stop(r)
	s.settle()
	select {
	case <-done:
	default:
		s.t.Fatalf("%s has not stopped", r)
	}
}

// eachSeed runs a scenario under several orders of events.
func eachSeed(t *testing.T, scenario func(s *stage)) {
	t.Helper()
	for seed := range uint64(10) {
		scenario(newStage(t, seed*7919))
	}
}

// live is a system on goroutines and the machine's clock.
func live(t *testing.T) *kit.System {
	s := kit.NewSystem(kit.Options{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return s
}

// note is a message that is only itself.
type note string

func (note) MessageKind() string { return "note" }

// request is a message that somebody waits for.
type request struct {
	*kit.Reply[string]
	name string
}

func (*request) MessageKind() string { return "request" }

// answers collects what came of requests.
type answers struct {
	given map[string]string
	errs  map[string][]error
}

func newAnswers() *answers { return &answers{map[string]string{}, map[string][]error{}} }

func (a *answers) request(name string) *request {
	return &request{name: name, Reply: kit.NewReply(func(v string, err error) {
		if err != nil {
			a.errs[name] = append(a.errs[name], err)
			return
		}
		a.given[name] = v
	})}
}

// role is a behavior made of the functions that a scenario needs.
type role struct {
	start    func(*kit.Context)
	receive  func(*kit.Context, kit.Message)
	endBatch func(*kit.Context)
	crashed  func(error)
	drain    func(*kit.Context)
	stopped  func(*kit.Context)
}

func (r *role) Start(ctx *kit.Context) {
	if r.start != nil {
		r.start(ctx)
	}
}

func (r *role) Receive(ctx *kit.Context, m kit.Message) {
	if r.receive != nil {
		r.receive(ctx, m)
	}
}

func (r *role) EndBatch(ctx *kit.Context) {
	if r.endBatch != nil {
		r.endBatch(ctx)
	}
}

func (r *role) Crashed(err error) {
	if r.crashed != nil {
		r.crashed(err)
	}
}

func (r *role) Drain(ctx *kit.Context) {
	if r.drain == nil {
		ctx.Drained()
		return
	}
	r.drain(ctx)
}

func (r *role) Stopped(ctx *kit.Context) {
	if r.stopped != nil {
		r.stopped(ctx)
	}
}

// cast makes props for a role; each incarnation is made by the function.
func cast(incarnation func() *role) kit.Props {
	return kit.Props{Kind: "role", New: func() kit.Behavior { return incarnation() }}
}

// once is cast for an actor that is not restarted in the scenario.
func once(r role) kit.Props { return cast(func() *role { return &r }) }
