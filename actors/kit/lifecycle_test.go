package kit_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"troupe/actors/kit"
)

func TestMessagesOfOneSenderArriveInOrderAndEachBatchIsEndedAfterItsLast(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var got []string
		unended := 0
		a := s.Spawn("a", once(role{
			receive: func(_ *kit.Context, m kit.Message) {
				got = append(got, string(m.(note)))
				unended++
			},
			endBatch: func(*kit.Context) {
				if unended == 0 {
					t.Fatal("a batch without a message was ended")
				}
				unended = 0
			},
		}))
		sent := []string{"1", "2", "3", "4", "5"}
		for i, m := range sent {
			a.Send(note(m))
			if i%2 == 0 {
				s.order.Step()
			}
		}
		s.settle()
		if !slices.Equal(got, sent) || unended != 0 {
			t.Fatalf("got %q with %d left in a batch, want %q", got, unended, sent)
		}
	})
}

func TestAStopComesAfterAllThatWasSentBeforeAndFailsWhatComesLater(t *testing.T) {
	eachSeed(t, func(s *stage) {
		got := newAnswers()
		a := s.Spawn("a", once(role{receive: func(_ *kit.Context, m kit.Message) {
			r := m.(*request)
			r.Give("done")
		}}))
		a.Send(got.request("before"))
		done := s.Stop(a)
		s.settle()
		a.Send(got.request("after"))
		<-done
		if got.given["before"] != "done" || len(got.errs["after"]) != 1 || !errors.Is(got.errs["after"][0], kit.ErrStopped) {
			t.Fatalf("given %v, failed %v", got.given, got.errs)
		}
		if n := s.DeadLetters(); n != 1 {
			t.Fatalf("%d dead letters, want 1", n)
		}
	})
}

func TestADrainingActorGoesOnUntilItsWorkIsDone(t *testing.T) {
	eachSeed(t, func(s *stage) {
		got := newAnswers()
		var parked *request
		flushed := false
		a := s.Spawn("a", once(role{
			receive: func(ctx *kit.Context, m kit.Message) {
				switch m := m.(type) {
				case *request:
					parked = m
					ctx.After(time.Second, note("written"))
				case note:
					parked.Give("written")
					ctx.Drained()
				}
			},
			drain:    func(*kit.Context) {}, // until written
			endBatch: func(*kit.Context) { flushed = true },
		}))
		a.Send(got.request("r"))
		done := s.Stop(a)
		s.settle()
		select {
		case <-done:
			t.Fatal("stopped with a request parked")
		default:
		}
		s.clock.Advance(time.Second)
		s.settle()
		<-done
		if got.given["r"] != "written" || !flushed {
			t.Fatalf("answered %v, failed %v, flushed %v", got.given, got.errs, flushed)
		}
	})
}

func TestChildrenStopBeforeTheirParentTheYoungestAskedFirst(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var stops []string
		leaf := func(name string) kit.Props {
			return once(role{stopped: func(*kit.Context) { stops = append(stops, name) }})
		}
		top := s.Spawn("top", once(role{
			start: func(ctx *kit.Context) {
				ctx.Spawn("old", leaf("old"))
				ctx.Spawn("young", leaf("young"))
			},
			stopped: func(*kit.Context) { stops = append(stops, "top") },
		}))
		s.settle()
		s.settleStopped(top)
		if len(stops) != 3 || stops[2] != "top" {
			t.Fatalf("stopped in the order %q, want the top last", stops)
		}
	})
}

func TestChildrenAnswerWhatTheyWereSentBeforeTheParentStops(t *testing.T) {
	eachSeed(t, func(s *stage) {
		got := newAnswers()
		top := s.Spawn("top", once(role{start: func(ctx *kit.Context) {
			child := ctx.Spawn("child", once(role{receive: func(_ *kit.Context, m kit.Message) { m.(*request).Give("ok") }}))
			for _, name := range []string{"a", "b", "c"} {
				ctx.Send(child, got.request(name))
			}
		}}))
		s.settleStopped(top)
		if len(got.given) != 3 {
			t.Fatalf("answered %v, failed %v, want all three answered", got.given, got.errs)
		}
	})
}

func TestANameIsFreeWhenItsTerminatedComes(t *testing.T) {
	eachSeed(t, func(s *stage) {
		lives, lastLife := 0, 10
		var child kit.Ref
		spawn := func(ctx *kit.Context) { child = ctx.Spawn("child", once(role{})) }
		top := s.Spawn("top", once(role{
			start: spawn,
			receive: func(ctx *kit.Context, m kit.Message) {
				switch m.(type) {
				case note:
					ctx.Stop(child)
				case kit.Terminated:
					if lives++; lives < lastLife {
						spawn(ctx)
						ctx.Stop(child)
					}
				}
			},
		}))
		top.Send(note("stop it"))
		s.settle()
		if lives != lastLife {
			t.Fatalf("%d children came to an end, want %d", lives, lastLife)
		}
		s.settleStopped(top)
	})
}

func TestWatchingAnActorThatHasStoppedTellsSoAtOnce(t *testing.T) {
	eachSeed(t, func(s *stage) {
		gone := s.Spawn("gone", once(role{}))
		s.settleStopped(gone)
		var heard []kit.Ref
		s.Spawn("watcher", once(role{
			start: func(ctx *kit.Context) { ctx.Watch(gone) },
			receive: func(_ *kit.Context, m kit.Message) {
				heard = append(heard, m.(kit.Terminated).Actor)
			},
		}))
		s.settle()
		if !slices.Equal(heard, []kit.Ref{gone}) {
			t.Fatalf("heard of %v, want of %v once", heard, gone)
		}
	})
}

func TestARestartEndsWhatTheFormerInstanceWatchedAndTimed(t *testing.T) {
	eachSeed(t, func(s *stage) {
		other := s.Spawn("other", once(role{}))
		a := s.Spawn("a", once(role{
			start: func(ctx *kit.Context) {
				if ctx.Incarnation() == 1 {
					ctx.Watch(other)
					ctx.After(time.Hour, note("late"))
				}
			},
			receive: func(_ *kit.Context, m kit.Message) {
				if m != note("boom") {
					t.Fatalf("the second incarnation received %v", m)
				}
				panic("boom")
			},
		}))
		a.Send(note("boom"))
		s.settle()
		s.clock.Advance(time.Second)
		s.settle()
		if at, pending := s.clock.Next(); pending {
			t.Fatalf("a timer is left for %v", at)
		}
		s.settleStopped(other)
	})
}

func TestATimerIsAMessageOfItsIncarnation(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var got []string
		a := s.Spawn("a", cast(func() *role {
			return &role{
				start: func(ctx *kit.Context) {
					if ctx.Incarnation() == 1 {
						ctx.After(time.Minute, note("of the first"))
						return
					}
					ctx.After(time.Minute, note("of the second"))
					ctx.After(2*time.Minute, note("stopped")).Stop()
				},
				receive: func(_ *kit.Context, m kit.Message) {
					if m == note("boom") {
						panic("boom")
					}
					got = append(got, string(m.(note)))
				},
			}
		}))
		a.Send(note("boom"))
		s.settle()
		s.clock.Advance(30 * time.Second) // the restart; the first timer would be due in 30 s
		s.settle()
		s.clock.Advance(3 * time.Minute)
		s.settle()
		if want := []string{"of the second"}; !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestATimerThatIsStoppedInTheMailboxDoesNotCome(t *testing.T) {
	eachSeed(t, func(s *stage) {
		var timer *kit.Timer
		a := s.Spawn("a", once(role{
			start: func(ctx *kit.Context) { timer = ctx.After(time.Second, note("due")) },
			receive: func(_ *kit.Context, m kit.Message) {
				if m == note("due") {
					t.Fatal("a stopped timer came")
				}
				if !timer.Stop() || timer.Stop() {
					t.Fatal("Stop must tell once that it was in time")
				}
			},
		}))
		s.settle()
		a.Send(note("cancel"))
		s.clock.Advance(time.Second) // due, behind the note in the mailbox
		s.settle()
	})
}

func TestAStoppedActorLeavesNoTimer(t *testing.T) {
	s := newStage(t, 1)
	a := s.Spawn("a", once(role{start: func(ctx *kit.Context) { ctx.After(time.Hour, note("late")) }}))
	s.settle()
	s.settleStopped(a)
	if at, pending := s.clock.Next(); pending {
		t.Fatalf("a timer is left for %v", at)
	}
}
