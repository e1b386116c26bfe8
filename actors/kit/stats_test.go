package kit_test

import (
	"runtime"
	"testing"
	"time"

	"troupe/actors/kit"
)

func TestTheTreeShowsWhoWaitsAndWhoFailed(t *testing.T) {
	s := newStage(t, 1)
	top := s.Spawn("top", once(role{start: func(ctx *kit.Context) { ctx.Spawn("child", once(role{})) }}))
	var log []string
	frail := s.Spawn("frail", kit.Props{Kind: "fragile", New: func() kit.Behavior { return &fragile{log: &log} }})
	s.settle()
	top.Send(&parcel{})
	top.Send(&parcel{})
	frail.Send(note("boom"))
	for s.Tree()[0].LastError == "" {
		s.order.Step()
	}
	s.settle()
	top.Send(&parcel{})
	tree := s.Tree()
	frailInfo := kit.ActorInfo{
		Name: "frail", Kind: "fragile", Handled: 1, Incarnation: 1, Suspended: true,
		LastError: "actor frail panicked on note: boom",
	}
	topInfo := kit.ActorInfo{Name: "top", Kind: "role", Depth: 1, Bytes: 10, Handled: 2, Incarnation: 1, Busy: true}
	childInfo := kit.ActorInfo{Name: "top/child", Kind: "role", Parent: "top", Incarnation: 1}
	want := []kit.ActorInfo{frailInfo, topInfo, childInfo}
	if len(tree) != len(want) {
		t.Fatalf("tree %+v", tree)
	}
	for i := range want {
		if tree[i] != want[i] {
			t.Errorf("got  %+v\nwant %+v", tree[i], want[i])
		}
	}
}

func TestTimesAreCountedByPowersOfTwoMicroseconds(t *testing.T) {
	s := newStage(t, 1)
	a := s.Spawn("a", once(role{receive: func(_ *kit.Context, m kit.Message) {
		s.clock.Advance(3 * time.Microsecond)
	}}))
	s.settle()
	a.Send(note("measured: the first look into a mailbox always is"))
	s.clock.Advance(100 * time.Microsecond)
	s.settle()
	k := s.Stats()[0]
	for _, c := range []struct {
		what  string
		of    kit.Histogram
		bound float64 // the bucket that the value falls into
		sum   float64
	}{
		{"handling", k.Handling, 4e-6, 3e-6},
		{"queueing", k.Queueing, 128e-6, 100e-6},
		{"batches", k.Batches, 1, 1},
	} {
		if c.of.Count != 1 || c.of.Sum < c.sum*0.999 || c.of.Sum > c.sum*1.001 {
			t.Errorf("%s: %d values of sum %g, want one of %g", c.what, c.of.Count, c.of.Sum, c.sum)
		}
		for bound, n := range c.of.Buckets {
			if reached := bound >= c.bound*0.999; (n == 1) != reached {
				t.Errorf("%s: %d values up to %g, want the value from %g on", c.what, n, bound, c.bound)
			}
		}
	}
}

func TestKindsKeepTheCountsOfActorsThatHaveStopped(t *testing.T) {
	s := newStage(t, 1)
	for range 3 {
		a := s.Spawn("a", once(role{}))
		a.Send(note("1"))
		a.Send(note("2"))
		s.settleStopped(a)
	}
	// Two notes and the stop each time.
	if k := s.Stats()[0]; k.Kind != "role" || k.Actors != 0 || k.Handled != 9 || k.Depth != 0 {
		t.Fatalf("%+v", k)
	}
}

func TestAMailboxThatFallsAsleepGivesItsMemoryBack(t *testing.T) {
	s := newStage(t, 1)
	a := s.Spawn("a", once(role{}))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	const burst = 100_000 // of at least 16 bytes each in the queue
	for range 3 {         // so that both halves of the mailbox grow
		for range burst {
			a.Send(note("m"))
		}
		for range 10 {
			s.order.Step()
		}
	}
	s.order.Run(4 * burst)
	if grown := int64(heap()) - int64(before); grown > burst {
		t.Fatalf("%d bytes are held", grown)
	}
	runtime.KeepAlive(s)
}
