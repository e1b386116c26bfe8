package kit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/kit"
)

func TestAnActorThatIsToldToPanicFailsWhatItParkedAndComesBack(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var log []string
		got := newAnswers()
		a := s.Spawn("a", kit.Props{Kind: "fragile", New: func() kit.Behavior { return &fragile{log: &log} }})
		a.Send(got.request("parked"))
		a.Panic()
		a.Send(note("after"))
		s.settle()
		s.clock.Advance(kit.DefaultRestarts.MinBackoff)
		s.settle()

		if want := []string{"start 1", "crashed 1", "start 2", "after in 2"}; !slices.Equal(log, want) {
			t.Fatalf("%q, want %q", log, want)
		}
		var p *kit.PanicError
		if len(got.errs["parked"]) != 1 || !errors.As(got.errs["parked"][0], &p) || p.Message != "Panic" {
			t.Fatalf("the parked request failed with %v, want once with the panic", got.errs["parked"])
		}
		info := s.Tree()[0]
		if info.Restarts != 1 || info.Depth != 0 || !strings.Contains(info.LastError, "fault test") {
			t.Fatalf("the tree shows %+v, want one restart and what it was for", info)
		}
	})
}

// A lane collects the writes of a batch and does them at its end: the panic falls between the two.
func TestAPanicFallsWithinABatch(t *testing.T) {
	s := newStage(t, 1)
	var collected, ended int
	a := s.Spawn("a", cast(func() *role {
		return &role{
			receive:  func(*kit.Context, kit.Message) { collected++ },
			endBatch: func(*kit.Context) { ended++ },
		}
	}))
	a.Send(note("collected"))
	a.Panic()
	s.settle()
	if collected != 1 || ended != 0 {
		t.Fatalf("collected %d and ended %d batches, want 1 and none", collected, ended)
	}
}

func TestToldToPanicAfterItsEndAnActorDoesNothing(t *testing.T) {
	s := newStage(t, 1)
	a := s.Spawn("a", once(role{}))
	s.settleStopped(a)
	a.Panic()
	s.settle()
	if s.DeadLetters() != 0 || len(s.gaveUp) != 0 {
		t.Fatalf("%d dead letters and %d given up, want none", s.DeadLetters(), len(s.gaveUp))
	}
}

func TestADedicatedActorThatIsToldToPanicComesBack(t *testing.T) {
	s := live(t)
	back := make(chan uint32, 2)
	a := s.Spawn("lane", kit.Props{Kind: "lane", Dedicated: true, New: func() kit.Behavior {
		return &role{start: func(ctx *kit.Context) { back <- ctx.Incarnation() }}
	}})
	<-back
	a.Panic()
	select {
	case life := <-back:
		if life != 2 {
			t.Fatalf("incarnation %d, want 2", life)
		}
	case <-time.After(patience):
		t.Fatal("it did not come back")
	}
}
