package kit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/internal/clock"
)

// asleep waits until the actors have nothing to do: a turn runs only those that it wakes.
func asleep(t *testing.T, sys *kit.System, refs ...kit.Ref) {
	t.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); ; <-again.C {
		awake := slices.ContainsFunc(sys.Tree(), func(a kit.ActorInfo) bool {
			return a.Busy && slices.ContainsFunc(refs, func(r kit.Ref) bool { return r.Name() == a.Name })
		})
		if !awake {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the actors do not come to rest")
		}
	}
}

// on sends through a turn without a trace.
func on(turn *kit.Turn, to kit.Ref, m kit.Message) { turn.Send(to, trace.Context{}, m) }

func TestATurnRunsWhatItWakesAndWhatTheseWake(t *testing.T) {
	sys := live(t)
	var story []string // without a lock: all of it happens on this goroutine
	var refs [3]kit.Ref
	for i := range refs {
		refs[i] = sys.Spawn(fmt.Sprint(i), once(role{
			receive: func(ctx *kit.Context, m kit.Message) {
				story = append(story, fmt.Sprint(i, " got ", m))
				if n := m.(note); len(n) < 4 {
					ctx.Send(refs[(i+1)%3], n+"x")
				}
			},
			endBatch: func(*kit.Context) { story = append(story, fmt.Sprint(i, " ends")) },
		}))
	}
	asleep(t, sys, refs[:]...)
	var turn kit.Turn
	on(&turn, refs[0], note("x"))
	if len(story) != 0 {
		t.Fatalf("before its turn: %v", story)
	}
	turn.Run()
	want := "0 got x, 0 ends, 1 got xx, 1 ends, 2 got xxx, 2 ends, 0 got xxxx, 0 ends"
	if got := strings.Join(story, ", "); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	asleep(t, sys, refs[:]...)
}

func TestWhatWaitsForATurnIsOneBatch(t *testing.T) {
	sys := live(t)
	batches := 0
	a := sys.Spawn("a", once(role{endBatch: func(*kit.Context) { batches++ }}))
	asleep(t, sys, a)
	var turn kit.Turn
	for range 10 {
		on(&turn, a, note("append"))
	}
	turn.Run()
	if batches != 1 || a.Depth() != 0 {
		t.Fatalf("%d batches, %d messages left", batches, a.Depth())
	}
}

func TestAPanicOnATurnIsItsActorsAlone(t *testing.T) {
	manual := clock.NewManual(time.Unix(1000, 0))
	sys := kit.NewSystem(kit.Options{Clock: manual})
	got := newAnswers()
	answer := func(_ *kit.Context, m kit.Message) {
		r := m.(*request)
		if r.name == "bad" {
			panic("boom")
		}
		r.Give("ok")
	}
	good, bad := sys.Spawn("good", once(role{receive: answer})), sys.Spawn("bad", once(role{receive: answer}))
	asleep(t, sys, good, bad)
	var turn kit.Turn
	on(&turn, bad, got.request("bad"))
	on(&turn, bad, got.request("later"))
	on(&turn, good, got.request("other"))
	turn.Run()
	var panicked *kit.PanicError
	if len(got.errs["bad"]) != 1 || !errors.As(got.errs["bad"][0], &panicked) || panicked.Actor != "bad" || panicked.Message != "request" {
		t.Fatalf("the failing request got %v", got.errs["bad"])
	}
	if got.given["other"] != "ok" {
		t.Fatalf("the other actor answered %q", got.given["other"])
	}
	for got.given["later"] == "" { // its supervisor may be awake elsewhere
		asleep(t, sys, bad)
		manual.Advance(time.Second)
		asleep(t, sys, bad)
		if later := got.errs["later"]; len(later) > 0 {
			t.Fatalf("the message behind it failed: %v", later)
		}
	}
	if err := sys.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTwoThatWakeEachOtherForEverDoNotKeepTheTurn(t *testing.T) {
	sys := live(t)
	stop := make(chan struct{})
	var refs [2]kit.Ref
	for i := range refs {
		refs[i] = sys.Spawn(fmt.Sprint(i), once(role{receive: func(ctx *kit.Context, m kit.Message) {
			select {
			case <-stop:
			default:
				ctx.Send(refs[1-i], m)
			}
		}}))
	}
	asleep(t, sys, refs[:]...)
	var turn kit.Turn
	on(&turn, refs[0], note("ball"))
	turn.Run() // ends, or the test does not
	close(stop)
	asleep(t, sys, refs[:]...)
}

func TestAnActorThatIsAwakeStaysWhereItIs(t *testing.T) {
	sys := live(t)
	entered, release := make(chan struct{}), make(chan struct{})
	a := sys.Spawn("a", once(role{receive: func(_ *kit.Context, m kit.Message) {
		if m == note("hold") {
			close(entered)
			<-release
		}
	}}))
	a.Send(note("hold"))
	<-entered
	var turn kit.Turn
	on(&turn, a, note("behind"))
	turn.Run() // does not wait for it
	close(release)
	asleep(t, sys, a)
	if a.Depth() != 0 {
		t.Fatal("the message behind was not handled")
	}
}

func TestWhoLeavesATurnLosesNothing(t *testing.T) {
	sys := live(t)
	got := make(chan kit.Message, 1)
	a := sys.Spawn("a", once(role{receive: func(_ *kit.Context, m kit.Message) { got <- m }}))
	asleep(t, sys, a)
	var turn kit.Turn
	on(&turn, a, note("x"))
	turn.Leave()
	if m := <-got; m != note("x") {
		t.Fatalf("got %v", m)
	}
	turn.Run()
}

// lender notes what it is told.
type lender struct{ story *[]string }

func (l lender) Block()  { *l.story = append(*l.story, "block") }
func (l lender) Resume() { *l.story = append(*l.story, "resume") }

func TestALaneIsRunLastAndOnlyWithWhatIsBrief(t *testing.T) {
	sys := live(t)
	var story []string
	elsewhere := make(chan string, 1)
	note1 := func(name string) role {
		return role{receive: func(_ *kit.Context, m kit.Message) {
			if m == note("long") {
				elsewhere <- name
				return
			}
			story = append(story, name)
		}}
	}
	lane := once(note1("lane"))
	lane.Dedicated, lane.Brief = true, func(m kit.Message) bool { return m == note("brief") }
	l, a := sys.Spawn("lane", lane), sys.Spawn("actor", once(note1("actor")))
	asleep(t, sys, l, a)
	turn := kit.Turn{Lender: lender{&story}}
	on(&turn, l, note("brief"))
	on(&turn, a, note("x"))
	turn.Run()
	if got := strings.Join(story, " "); got != "actor block lane resume" {
		t.Fatalf("got %q", got)
	}
	asleep(t, sys, l, a)
	on(&turn, l, note("long"))
	if got := <-elsewhere; got != "lane" { // without Run
		t.Fatalf("got %q", got)
	}
	asleep(t, sys, l)
	nobody := kit.Turn{}
	on(&nobody, l, note("long")) // there is nobody who would block
	<-elsewhere
}

func TestOfTwoLanesOneRunsElsewhere(t *testing.T) {
	sys := live(t)
	var both sync.WaitGroup
	both.Add(2)
	turn := kit.Turn{Lender: lender{new([]string)}}
	var lanes []kit.Ref
	for i := range 2 {
		// Each waits for the other: on one goroutine they would wait for ever.
		lane := once(role{receive: func(*kit.Context, kit.Message) { both.Done(); both.Wait() }})
		lane.Dedicated, lane.Brief = true, func(kit.Message) bool { return true }
		lanes = append(lanes, sys.Spawn(fmt.Sprint(i), lane))
	}
	asleep(t, sys, lanes...)
	for _, l := range lanes {
		on(&turn, l, note("write"))
	}
	turn.Run()
	asleep(t, sys, lanes...)
}

func TestUnderADeterministicDispatcherATurnLendsNothing(t *testing.T) {
	s := newStage(t, 1)
	handled := 0
	a := s.Spawn("a", once(role{receive: func(*kit.Context, kit.Message) { handled++ }}))
	s.settle()
	var turn kit.Turn
	on(&turn, a, note("x"))
	turn.Run()
	if handled != 0 {
		t.Fatal("the turn ran an actor past the order of the seed")
	}
	s.settle()
	if handled != 1 {
		t.Fatalf("handled %d times", handled)
	}
}

func TestTurnsAndGoroutinesShareActorsWithoutLosingOrDoublingAMessage(t *testing.T) {
	sys := live(t)
	const actors, senders, each = 4, 8, 3000
	var last [actors][senders]int // of an actor's own
	var refs []kit.Ref
	for i := range actors {
		p := cast(func() *role {
			return &role{receive: func(ctx *kit.Context, m kit.Message) {
				p := m.(*parcel)
				p.received.Add(1)
				if p.number <= last[i][p.sender] {
					t.Errorf("actor %d, sender %d: %d after %d", i, p.sender, p.number, last[i][p.sender])
				}
				last[i][p.sender] = p.number
				if p.number%500 == 0 {
					panic("boom")
				}
				if p.number%3 == 0 && i+1 < actors {
					ctx.Send(refs[actors], note("wake")) // a lane that all wake
				}
			}}
		})
		p.Restarts = kit.Restarts{Max: 1 << 20, Within: time.Hour, MinBackoff: time.Microsecond, MaxBackoff: time.Microsecond}
		refs = append(refs, sys.Spawn(fmt.Sprint(i), p))
	}
	lane := once(role{})
	lane.Dedicated, lane.Brief = true, func(kit.Message) bool { return true }
	refs = append(refs, sys.Spawn("lane", lane))
	parcels := make([][]parcel, senders)
	var wg sync.WaitGroup
	for s := range senders {
		parcels[s] = make([]parcel, each)
		wg.Go(func() {
			turn := &kit.Turn{Lender: lender{new([]string)}}
			if s%4 == 0 {
				turn = nil // an ordinary sender
			}
			for n := range parcels[s] {
				p := &parcels[s][n]
				p.sender, p.number = s, n+1
				on(turn, refs[n%actors], p)
				if turn != nil && n%7 == 0 {
					turn.Run()
				}
			}
			if turn != nil {
				turn.Leave()
			}
		})
	}
	wg.Wait()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for _, r := range refs {
		for r.Depth() > 0 { // a stop between two incarnations would leave messages unread
			<-again.C
		}
		<-sys.Stop(r)
	}
	for s := range parcels {
		for n := range parcels[s] {
			p := &parcels[s][n]
			// One that was panicked on is received and failed.
			want := int32(0)
			if p.number%500 == 0 {
				want = 1
			}
			if p.received.Load() != 1 || p.failed.Load() != want {
				t.Fatalf("parcel %d of sender %d: received %d, failed %d times", n, s, p.received.Load(), p.failed.Load())
			}
		}
	}
}
