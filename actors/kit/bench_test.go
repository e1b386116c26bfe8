package kit_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/internal/clock"
)

// The figure asked of the kit is 55 to 100 ns and no allocation for a hop; `go test -tags notrace -bench Hop` gives the
// hop without hooks, of which the hooks may differ by 3 ns.

type tick struct{ left *int }

func (*tick) MessageKind() string { return "tick" }

type countdown struct{ done chan struct{} }

func (b *countdown) Receive(_ *kit.Context, m kit.Message) {
	t := m.(*tick)
	if *t.left--; *t.left == 0 {
		b.done <- struct{}{}
	}
}

func benchmarkHop(b *testing.B, rule trace.Rule, dedicated bool) {
	tracer := trace.New(trace.Options{Clock: clock.System()})
	tracer.SetRule(rule)
	sys := kit.NewSystem(kit.Options{Trace: tracer})
	done := make(chan struct{})
	to := sys.Spawn("sink", kit.Props{
		Kind: "sink", New: func() kit.Behavior { return &countdown{done} }, Dedicated: dedicated,
	})
	left := b.N
	m := &tick{&left}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		a := tracer.Start("bench", "tick")
		to.SendCaused(a.Context(), m)
		a.End()
		// A sender that runs far ahead would measure the growth of the queue, which credits prevent in the broker.
		if i%256 == 255 {
			for to.Depth() > 1024 {
				runtime.Gosched()
			}
		}
	}
	<-done
	b.StopTimer()
	<-sys.Stop(to)
}

func BenchmarkHop(b *testing.B)          { benchmarkHop(b, trace.Rule{}, false) }
func BenchmarkHopDedicated(b *testing.B) { benchmarkHop(b, trace.Rule{}, true) }
func BenchmarkHopSampled1in1000(b *testing.B) {
	benchmarkHop(b, trace.Rule{OneIn: 1000}, false)
}

// BenchmarkHopOnOneGoroutine is the one to compare with and without the tag notrace: no scheduler has a say in it. The
// dispatcher's draw for each message, some 20 ns, is in both.
func BenchmarkHopOnOneGoroutine(b *testing.B) {
	order := kit.NewDeterministic(1)
	sys := kit.NewSystem(kit.Options{Dispatcher: order})
	to := sys.Spawn("sink", kit.Props{Kind: "sink", New: func() kit.Behavior { return new(plainSink) }})
	m := &ball{}
	b.ReportAllocs()
	for b.Loop() {
		to.Send(m)
		order.Step()
	}
}

type plainSink struct{ got int }

func (p *plainSink) Receive(*kit.Context, kit.Message) { p.got++ }

type ball struct{ left int }

func (*ball) MessageKind() string { return "ball" }

type player struct {
	other kit.Ref
	done  chan struct{}
}

func (p *player) Receive(ctx *kit.Context, m kit.Message) {
	b := m.(*ball)
	if b.left--; b.left <= 0 {
		p.done <- struct{}{}
		return
	}
	ctx.Send(p.other, m)
}

// BenchmarkPingPong is the worst case: every message finds its receiver asleep.
func BenchmarkPingPong(b *testing.B) {
	sys := kit.NewSystem(kit.Options{})
	done := make(chan struct{})
	a, c := &player{done: done}, &player{done: done}
	ra := sys.Spawn("a", kit.Props{Kind: "player", New: func() kit.Behavior { return a }})
	rc := sys.Spawn("b", kit.Props{Kind: "player", New: func() kit.Behavior { return c }})
	a.other, c.other = rc, ra
	b.ReportAllocs()
	b.ResetTimer()
	ra.Send(&ball{left: b.N})
	<-done
}

// BenchmarkIdleActors reports the memory of an actor that waits.
func BenchmarkIdleActors(b *testing.B) {
	const actors = 10_000
	for b.Loop() {
		var before, after runtime.MemStats
		var started sync.WaitGroup
		started.Add(1 + actors)
		sys := kit.NewSystem(kit.Options{})
		runtime.GC()
		runtime.ReadMemStats(&before)
		sys.Spawn("top", kit.Props{Kind: "top", New: func() kit.Behavior { return &nursery{actors, &started} }})
		started.Wait()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/actors, "B/actor")
		if err := sys.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

type nursery struct {
	n       int
	started *sync.WaitGroup
}

func (p *nursery) Start(ctx *kit.Context) {
	for i := range p.n {
		ctx.Spawn(string(rune('a'+i%26))+time.Duration(i).String(), kit.Props{Kind: "idle", New: func() kit.Behavior { return &nursery{0, p.started} }})
	}
	p.started.Done()
}

func (p *nursery) Receive(*kit.Context, kit.Message) {}

func TestAHopAllocatesNothing(t *testing.T) {
	s := newStage(t, 1)
	a := s.Spawn("a", once(role{receive: func(ctx *kit.Context, m kit.Message) {
		if b := m.(*ball); b.left > 0 {
			b.left--
			ctx.Send(ctx.Self(), b)
		}
	}}))
	s.settle()
	m := &ball{}
	hops := func() {
		m.left = 10
		a.Send(m)
		s.settle()
	}
	hops() // the mailbox grows once
	if n := testing.AllocsPerRun(100, hops); n != 0 {
		t.Fatalf("11 hops allocated %v times", n)
	}
}
