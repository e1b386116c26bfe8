package kit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/internal/clock"
)

// fragile panics on "boom", parks requests, and answers "answer" by answering all of them.
type fragile struct {
	log    *[]string
	parked []*request
	life   uint32
}

func (f *fragile) Start(ctx *kit.Context) {
	f.life = ctx.Incarnation()
	*f.log = append(*f.log, fmt.Sprintf("start %d", f.life))
}

func (f *fragile) Receive(_ *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case note:
		if m == "boom" {
			panic("boom")
		}
		*f.log = append(*f.log, fmt.Sprintf("%s in %d", m, f.life))
	case *request:
		f.parked = append(f.parked, m)
		if m.name == "fatal" {
			panic(errors.New("unreadable"))
		}
	}
}

func (f *fragile) Crashed(err error) {
	*f.log = append(*f.log, fmt.Sprintf("crashed %d", f.life))
	for _, r := range f.parked {
		r.Fail(err)
	}
}

func TestAnActorThatPanicsIsRestartedAfterABackoffAndKeepsItsQueue(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var log []string
		a := s.Spawn("a", kit.Props{Kind: "fragile", New: func() kit.Behavior { return &fragile{log: &log} }})
		for _, m := range []note{"one", "boom", "two"} {
			a.Send(m)
		}
		s.settle()
		if want := []string{"start 1", "one in 1", "crashed 1"}; !slices.Equal(log, want) {
			t.Fatalf("before the backoff has passed: %q, want %q", log, want)
		}
		s.clock.Advance(kit.DefaultRestarts.MinBackoff)
		s.settle()
		if want := []string{"start 1", "one in 1", "crashed 1", "start 2", "two in 2"}; !slices.Equal(log, want) {
			t.Fatalf("after the backoff: %q, want %q", log, want)
		}
	})
}

func TestARequestThatAnActorPanicsOnFailsOnceWithThePanic(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var log []string
		got := newAnswers()
		a := s.Spawn("a", kit.Props{Kind: "fragile", New: func() kit.Behavior { return &fragile{log: &log} }})
		a.Send(got.request("parked"))
		a.Send(got.request("fatal")) // parked too: the panic and Crashed both fail it
		s.settle()
		for _, name := range []string{"parked", "fatal"} {
			if len(got.errs[name]) != 1 {
				t.Fatalf("%s failed %d times, want once", name, len(got.errs[name]))
			}
			var p *kit.PanicError
			if err := got.errs[name][0]; !errors.As(err, &p) || p.Actor != "a" || p.Message != "request" ||
				errors.Unwrap(p) == nil || !strings.Contains(string(p.Stack), "Receive") {
				t.Fatalf("%s failed with %v, want the panic with its actor, message, cause and stack", name, err)
			}
		}
	})
}

func TestRestartsBackOffExponentiallyAndThenTheParentIsTold(t *testing.T) {
	policy := kit.Restarts{Max: 4, Within: time.Hour, MinBackoff: 10 * time.Millisecond, MaxBackoff: 50 * time.Millisecond}
	// 10, 20, 40 and then 50 instead of 80 ms; the fifth panic is one too many.
	waits := []time.Duration{10, 20, 40, 50}
	eachSeed(t, func(s *stage) {
		var heard []string
		var log []string
		parent := s.Spawn("parent", once(role{
			start: func(ctx *kit.Context) {
				child := kit.Props{
					Kind: "fragile", New: func() kit.Behavior { return &fragile{log: &log} }, Restarts: policy,
				}
				ctx.Watch(ctx.Spawn("child", child))
			},
			receive: func(_ *kit.Context, m kit.Message) {
				switch m := m.(type) {
				case kit.GaveUp:
					heard = append(heard, fmt.Sprintf("gave up %s: %v", m.Actor, m.Err.Value))
				case kit.Terminated:
					heard = append(heard, "terminated "+m.Actor.Name())
				}
			},
		}))
		s.settle()
		child, _ := s.Find("parent/child")
		for i, wait := range waits {
			child.Send(note("boom"))
			s.settle()
			s.clock.Advance(wait*time.Millisecond - time.Nanosecond)
			s.settle()
			if n := s.Tree()[1].Incarnation; n != uint32(i+1) {
				t.Fatalf("restart %d came before its backoff of %d ms", i+1, wait)
			}
			s.clock.Advance(time.Nanosecond)
			s.settle()
			if n := s.Tree()[1].Incarnation; n != uint32(i+2) {
				t.Fatalf("restart %d did not come after its backoff of %d ms", i+1, wait)
			}
		}
		got := newAnswers()
		child.Send(note("boom"))
		child.Send(got.request("left in the queue"))
		s.settle()
		if want := []string{"gave up parent/child: boom", "terminated parent/child"}; !slices.Equal(heard, want) {
			t.Fatalf("the parent heard %q, want %q", heard, want)
		}
		if errs := got.errs["left in the queue"]; len(errs) != 1 || !errors.Is(errs[0], kit.ErrStopped) {
			t.Fatalf("the request left behind failed with %v, want once with ErrStopped", errs)
		}
		s.settleStopped(parent)
	})
}

func TestPanicsLongAgoAreForgivenIfThePolicyHasAWindow(t *testing.T) {
	for _, c := range []struct {
		within   time.Duration
		restarts uint64
		gaveUp   int
	}{
		{within: time.Second, restarts: 5}, // the window is over when the next panic comes
		{within: 0, restarts: 1, gaveUp: 1},
		{within: time.Minute, restarts: 1, gaveUp: 1},
	} {
		s := newStage(t, 1)
		policy := kit.Restarts{Max: 1, Within: c.within, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond}
		var log []string
		a := s.Spawn("a", kit.Props{Kind: "f", New: func() kit.Behavior { return &fragile{log: &log} }, Restarts: policy})
		for range 5 {
			a.Send(note("boom"))
			s.settle()
			s.clock.Advance(time.Second)
			s.settle()
		}
		if got := s.Stats()[0].Restarts; len(s.gaveUp) != c.gaveUp || got != c.restarts {
			t.Errorf("5 panics a second apart within %v: gave up %d times (want %d), restarted %d times (want %d)",
				c.within, len(s.gaveUp), c.gaveUp, got, c.restarts)
		}
	}
}

func TestAnActorAtTheTopThatIsGivenUpIsReported(t *testing.T) {
	eachSeed(t, func(s *stage) {
		s.Spawn("a", kit.Props{Kind: "f", Restarts: kit.Restarts{Max: -1}, New: func() kit.Behavior {
			return &role{start: func(*kit.Context) { panic("no disk") }}
		}})
		s.settle()
		if len(s.gaveUp) != 1 || s.gaveUp[0].Err.Value != "no disk" || s.gaveUp[0].Err.Message != "" {
			t.Fatalf("reported: %v, want the panic in Start once", s.gaveUp)
		}
		if tree := s.Tree(); len(tree) != 0 {
			t.Fatalf("still there: %v", tree)
		}
	})
}

func TestARestartDropsTheChildrenAndItsStartMakesThemAnew(t *testing.T) {
	eachSeed(t, func(s *stage) {
		childLives := 0
		s.Spawn("top", cast(func() *role {
			return &role{
				start: func(ctx *kit.Context) {
					ctx.Spawn("child", once(role{start: func(*kit.Context) { childLives++ }}))
				},
				receive: func(*kit.Context, kit.Message) { panic("boom") },
			}
		}))
		s.settle()
		top, _ := s.Find("top")
		top.Send(note("go"))
		s.settle()
		s.clock.Advance(time.Second)
		s.settle()
		if childLives != 2 || len(s.Tree()) != 2 {
			t.Fatalf("the child started %d times and the tree is %v", childLives, s.Tree())
		}
	})
}

// deaf is a clock whose timers cannot be stopped: they are under way already, as one of the machine's may be.
type deaf struct{ *clock.Manual }

func (d deaf) AfterFunc(after time.Duration, f func()) clock.Timer {
	d.Manual.AfterFunc(after, f)
	return deaf{}
}

func (deaf) Stop() bool { return false }

// The child that was to be restarted ended with its parent's incarnation. Nobody answers what its namesake has parked when
// that is restarted without having panicked.
func TestARestartThatComesLateIsNotTheNextActorsOfTheName(t *testing.T) {
	manual, order := clock.NewManual(time.Unix(1000, 0)), kit.NewDeterministic(1)
	sys := kit.NewSystem(kit.Options{Clock: deaf{manual}, Dispatcher: order})
	var log []string
	parent := sys.Spawn("parent", cast(func() *role {
		return &role{start: func(ctx *kit.Context) {
			ctx.Spawn("child", kit.Props{Kind: "fragile", New: func() kit.Behavior { return &fragile{log: &log} }})
		}}
	}))
	order.Run(1000)
	parent.Panic()
	order.Run(1000)
	manual.Advance(kit.DefaultRestarts.MinBackoff / 2)
	child, _ := sys.Find("parent/child")
	child.Panic()
	order.Run(1000)
	manual.Advance(kit.DefaultRestarts.MinBackoff / 2) // the parent comes back, with another child
	order.Run(1000)
	manual.Advance(kit.DefaultRestarts.MinBackoff) // the first child's time has come
	order.Run(1000)
	if want := []string{"start 1", "crashed 1", "start 1"}; !slices.Equal(log, want) {
		t.Errorf("the children's story is %q, want %q", log, want)
	}
}

func TestAStopDuringTheBackoffDoesNotWaitForIt(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var log []string
		a := s.Spawn("a", kit.Props{Kind: "f", New: func() kit.Behavior { return &fragile{log: &log} }})
		a.Send(note("boom"))
		s.settle()
		s.settleStopped(a)
		if _, pending := s.clock.Next(); pending {
			t.Fatal("the restart is still to come")
		}
	})
}

func TestACallbackThatPanicsDoesNotTakeTheActorAlong(t *testing.T) {
	s := newStage(t, 1)
	var got []kit.Message
	a := s.Spawn("a", cast(func() *role {
		return &role{
			receive: func(_ *kit.Context, m kit.Message) {
				got = append(got, m)
				if _, ok := m.(*request); ok {
					panic("boom")
				}
			},
			crashed: func(error) { panic("again") },
		}
	}))
	a.Send(&request{Reply: kit.NewReply(func(string, error) { panic("in the reply") })})
	a.Send(note("after"))
	s.settle()
	s.clock.Advance(time.Second)
	s.settle()
	if len(got) != 2 || got[1] != note("after") {
		t.Fatalf("received %v, want the note after the restart", got)
	}
}
