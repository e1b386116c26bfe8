package kit_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"troupe/actors/kit"
)

// plain is a behavior without any hook.
type plain struct{ got *int }

func (p plain) Receive(*kit.Context, kit.Message) { *p.got++ }

func TestAnActorWithoutHooksReceivesAllThatWasSentBeforeItStops(t *testing.T) {
	eachSeed(t, func(s *stage) {
		got := 0
		a := s.Spawn("a", kit.Props{Kind: "plain", New: func() kit.Behavior { return plain{&got} }})
		a.Send(note("1"))
		a.Send(note("2"))
		s.settleStopped(a)
		if got != 2 {
			t.Fatalf("received %d messages, want 2", got)
		}
	})
}

func TestAnActorThatPanicsWhileItStopsStillStops(t *testing.T) {
	for _, c := range []struct {
		when string
		r    role
	}{
		{"drains", role{drain: func(*kit.Context) { panic("boom") }}},
		{"ends its last batch", role{endBatch: func(*kit.Context) { panic("boom") }}},
		{"is told that it has stopped", role{stopped: func(*kit.Context) { panic("boom") }}},
	} {
		t.Run(c.when, func(t *testing.T) {
			eachSeed(t, func(s *stage) {
				crashes := 0
				c.r.crashed = func(error) { crashes++ }
				top := s.Spawn("top", once(role{
					start:   func(ctx *kit.Context) { ctx.Spawn("child", once(c.r)) },
					receive: func(_ *kit.Context, m kit.Message) { t.Fatalf("the parent was told %v", m) },
				}))
				s.settle()
				s.settleStopped(top)
				if crashes != 1 {
					t.Fatalf("the instance was told %d times that it crashed, want once", crashes)
				}
				if _, pending := s.clock.Next(); pending || len(s.gaveUp) != 0 {
					t.Fatal("a restart or a report is still to come")
				}
			})
		})
	}
}

func TestABatchThatPanicsAtItsEndFailsWhatItHadCollected(t *testing.T) {
	eachSeed(t, func(s *stage) {
		got := newAnswers()
		lives := 0
		a := s.Spawn("a", cast(func() *role {
			lives++
			life := lives
			var waiting []*request
			return &role{
				receive: func(_ *kit.Context, m kit.Message) { waiting = append(waiting, m.(*request)) },
				endBatch: func(*kit.Context) {
					if life == 1 {
						panic("boom")
					}
					for _, r := range waiting {
						r.Give("ok")
					}
					waiting = nil
				},
				crashed: func(err error) {
					for _, r := range waiting {
						r.Fail(err)
					}
				},
			}
		}))
		a.Send(got.request("first"))
		s.settle()
		a.Send(got.request("second"))
		s.settle()
		s.clock.Advance(time.Second)
		s.settle()
		var p *kit.PanicError
		if len(got.errs["first"]) != 1 || !errors.As(got.errs["first"][0], &p) || p.Message != "" {
			t.Fatalf("first failed with %v, want the panic of EndBatch once", got.errs["first"])
		}
		if got.given["second"] != "ok" {
			t.Fatalf("second, sent during the backoff: given %q, failed %v", got.given["second"], got.errs["second"])
		}
	})
}

func TestAnActorMayEndItself(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var heard []string
		top := s.Spawn("top", once(role{
			start: func(ctx *kit.Context) {
				child := ctx.Spawn("child", once(role{receive: func(ctx *kit.Context, _ kit.Message) { ctx.Drained() }}))
				ctx.Watch(child)
				ctx.Send(child, note("end"))
			},
			receive: func(ctx *kit.Context, m kit.Message) {
				heard = append(heard, m.(kit.Terminated).Actor.Name())
				if ctx.Children() != 0 {
					t.Fatal("the child still counts")
				}
			},
		}))
		s.settle()
		if want := []string{"top/child"}; !slices.Equal(heard, want) {
			t.Fatalf("heard of %q, want %q", heard, want)
		}
		s.settleStopped(top)
	})
}

func TestAnActorThatPanicsAfterItEndedItselfLivesOn(t *testing.T) {
	eachSeed(t, func(s *stage) {
		got := 0
		a := s.Spawn("a", once(role{receive: func(ctx *kit.Context, m kit.Message) {
			if got++; m == note("end") {
				ctx.Drained()
				panic("boom")
			}
		}}))
		a.Send(note("end"))
		s.settle()
		s.clock.Advance(time.Second)
		a.Send(note("2"))
		s.settle()
		a.Send(note("3"))
		s.settle()
		if got != 3 {
			t.Fatalf("received %d messages, want 3", got)
		}
	})
}

func TestAStopThatTheRestartOvertakesStillEnds(t *testing.T) {
	s := newStage(t, 1)
	a := s.Spawn("a", once(role{
		start:   func(ctx *kit.Context) { ctx.Spawn("child", once(role{})) },
		receive: func(*kit.Context, kit.Message) { panic("boom") },
	}))
	a.Send(note("go"))
	s.settle()
	done := s.Stop(a)
	s.order.Step() // the actor now waits for its child to end
	s.clock.Advance(time.Second)
	s.settle()
	select {
	case <-done:
	default:
		t.Fatalf("it lives on: %+v", s.Tree())
	}
}

func TestWhatABatchCollectedReachesTheChildrenBeforeTheirStop(t *testing.T) {
	eachSeed(t, func(s *stage) {
		got := newAnswers()
		var child kit.Ref
		var waiting []*request
		top := s.Spawn("top", once(role{
			start: func(ctx *kit.Context) {
				child = ctx.Spawn("child", once(role{receive: func(_ *kit.Context, m kit.Message) { m.(*request).Give("ok") }}))
			},
			receive: func(_ *kit.Context, m kit.Message) { waiting = append(waiting, m.(*request)) },
			endBatch: func(ctx *kit.Context) {
				for _, r := range waiting {
					ctx.Send(child, r)
				}
				waiting = nil
			},
		}))
		top.Send(got.request("r"))
		s.settleStopped(top)
		if got.given["r"] != "ok" {
			t.Fatalf("failed with %v", got.errs)
		}
	})
}

func TestAnActorStoppedByItsParentsPanicEndsItsBatchAndNoOther(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var child kit.Ref
		unended := 0
		top := s.Spawn("top", once(role{
			start: func(ctx *kit.Context) {
				if ctx.Incarnation() > 1 {
					return
				}
				child = ctx.Spawn("child", cast(func() *role {
					mine := 0
					return &role{
						receive: func(_ *kit.Context, m kit.Message) {
							if m == note("boom") {
								panic("boom")
							}
							mine++
							unended++
						},
						endBatch: func(*kit.Context) {
							if mine == 0 {
								t.Fatal("an instance ended a batch of another")
							}
							mine, unended = 0, 0
						},
					}
				}))
			},
			receive: func(*kit.Context, kit.Message) { panic("boom") },
		}))
		s.settle()
		child.Send(note("boom"))
		s.settle()
		s.clock.Advance(time.Second)
		s.settle()
		top.Send(note("boom"))
		s.settle()
		for range 3 {
			child.Send(note("work"))
		}
		s.clock.Advance(time.Second) // the restart of the parent, which stops the child somewhere in its work
		s.settle()
		if unended != 0 {
			t.Fatalf("%d messages were received and never ended", unended)
		}
	})
}

func TestTheKitsOwnSignalsAreNoDeadLetters(t *testing.T) {
	eachSeed(t, func(s *stage) {
		other := s.Spawn("other", once(role{}))
		a := s.Spawn("a", once(role{start: func(ctx *kit.Context) {
			ctx.After(time.Second, note("due"))
			ctx.Watch(other)
		}}))
		s.settle()
		s.Stop(a)
		s.clock.Advance(time.Second)
		s.Stop(other)
		s.settle()
		if n := s.DeadLetters(); n != 0 {
			t.Fatalf("%d dead letters", n)
		}
	})
}

type lost struct{ name string }

func (lost) MessageKind() string { return "lost" }

func TestAGivenUpChildIsReportedInItsParentsOwnWords(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var heard []kit.Message
		s.Spawn("top", once(role{
			start: func(ctx *kit.Context) {
				p := once(role{start: func(*kit.Context) { panic("boom") }})
				p.Restarts = kit.Restarts{Max: -1}
				p.OnGiveUp = func(actor kit.Ref, _ *kit.PanicError) kit.Message { return lost{actor.Name()} }
				ctx.Spawn("child", p)
			},
			receive: func(_ *kit.Context, m kit.Message) { heard = append(heard, m) },
		}))
		s.settle()
		if want := []kit.Message{lost{"top/child"}}; !slices.Equal(heard, want) {
			t.Fatalf("heard %v, want %v", heard, want)
		}
	})
}

func TestShutdownStopsTheYoungestFirstAndGivesUpWhenItsTimeIsOver(t *testing.T) {
	sys := kit.NewSystem(kit.Options{})
	var stops []string
	for _, name := range []string{"disks", "replicas", "listeners"} {
		sys.Spawn(name, once(role{stopped: func(*kit.Context) { stops = append(stops, name) }}))
	}
	var stuck *kit.Context
	entered := make(chan struct{})
	sys.Spawn("stuck", once(role{drain: func(ctx *kit.Context) {
		stuck = ctx
		close(entered)
	}, receive: func(*kit.Context, kit.Message) { stuck.Drained() }}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-entered
		cancel()
	}()
	if err := sys.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("with one actor stuck: %v", err)
	}
	r, _ := sys.Find("stuck")
	r.Send(note("go"))
	if err := sys.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"listeners", "replicas", "disks"}; !slices.Equal(stops, want) {
		t.Fatalf("stopped in the order %q, want %q", stops, want)
	}
}

func TestATakenNameIsABug(t *testing.T) {
	s := newStage(t, 1)
	s.Spawn("a", once(role{}))
	defer func() {
		if recover() == nil {
			t.Fatal("two actors have one name")
		}
	}()
	s.Spawn("a", once(role{}))
}
