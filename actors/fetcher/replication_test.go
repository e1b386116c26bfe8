package fetcher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

const seeds = 8

func each(t *testing.T, scenario func(*world)) {
	t.Helper()
	for seed := range uint64(seeds) {
		w := newWorld(t, seed)
		scenario(w)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestARecordIsAcknowledgedWhenAllInSyncHaveIt(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b")
		w.run()
		w.acknowledged(2)
		w.pass(100 * time.Millisecond)
		w.converged()
	})
}

// What one produce leads to is one tree of spans over three brokers: each span's cause is a span of the trace, and the
// leader's last is caused by the fetch that closed it.
func TestAProduceIsOneTraceOverThreeBrokers(t *testing.T) {
	each(t, func(w *world) {
		w.pass(100 * time.Millisecond)
		cause := trace.Context{Trace: 77, Span: 1}
		w.produceIn(&sent{value: "traced", all: true, cause: cause}, 1)
		w.pass(100 * time.Millisecond)
		w.acknowledged(1)
		spans, kinds := map[trace.SpanID]bool{cause.Span: true}, map[model.BrokerID]map[string]bool{}
		var all []trace.Span
		for _, id := range w.ids {
			kinds[id] = map[string]bool{}
			for _, s := range w.brokers[id].process.tracer.Recent(1000) {
				if s.TraceID == cause.Trace {
					all = append(all, s)
					spans[s.SpanID] = true
					kinds[id][s.Kind] = true
				}
			}
		}
		for _, s := range all {
			if !spans[s.Cause] {
				w.t.Errorf("the cause of %s at broker %d is not of the trace", s.Kind, s.Broker)
			}
		}
		for id, want := range map[model.BrokerID][]string{
			1: {"replica.append", "disk.appends", "replica.follower-fetch"},
			2: {"replica.fetched", "disk.appends", "replica.progress"}, 3: {"replica.fetched", "disk.appends", "replica.progress"},
		} {
			for _, kind := range want {
				if !kinds[id][kind] {
					w.t.Errorf("broker %d: no %s in the trace, but %v", id, kind, kinds[id])
				}
			}
		}
	})
}

func TestAFollowerThatDiesLeavesTheISRAndComesBack(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b", "c")
		w.run()
		w.kill(3, false)
		w.produce("d", "e")
		w.pass(time.Second)
		w.acknowledged(3)
		w.pass(2 * lagMax)
		w.acknowledged(5)
		w.start(3)
		w.pass(time.Second)
		w.produce("f")
		w.pass(time.Second)
		w.acknowledged(6)
		w.converged()
	})
}

func TestWhatALeaderAloneHadGoesWhenItFollowsTheNext(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b")
		w.run()
		for _, id := range []model.BrokerID{2, 3} { // nobody fetches from 1 any more
			w.cut[[2]model.BrokerID{id, 1}] = true
		}
		w.pass(100 * time.Millisecond)
		w.produceTo(1, "only here", true)
		w.produceTo(1, "here too", false)
		w.pass(100 * time.Millisecond)
		w.elect(2, 2, 3)
		w.run()
		w.produce("c")
		w.pass(time.Second)
		if got := w.sent[2]; !got.done || got.code != kerr.NotLeaderOrFollower {
			w.t.Errorf("what waited for the high watermark is answered with %v, %s", got.done, got.code.Name())
		}
		clear(w.cut)
		w.pass(time.Second)
		w.converged()
		if _, values := w.log(1); len(values) != 3 {
			w.t.Errorf("the former leader has %q", values)
		}
	})
}

// Its session at the leader goes on, in which partitions that have no news are not named.
func TestABrokerThatRegistersAnewWhileItRunsJoinsTheISRThoughNothingIsWritten(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a")
		w.pass(100 * time.Millisecond)
		w.state.ISR = []model.BrokerID{1, 2} // it was unregistered
		w.state.Epoch++
		w.register(w.brokers[3].process)
		w.tell()
		w.recheck()
		w.pass(time.Second)
		w.converged()
	})
}

func TestAFollowerWhoseLogWasCutLearnsTheHighWatermarkThoughNothingIsWritten(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b")
		w.pass(100 * time.Millisecond)
		for _, id := range []model.BrokerID{2, 3} {
			w.cut[[2]model.BrokerID{id, 1}] = true
		}
		w.produceTo(1, "only here", false)
		w.run()
		w.kill(1, false)
		w.elect(2, 2, 3)
		clear(w.cut)
		w.pass(100 * time.Millisecond)
		w.start(1) // its checkpoint knows of no high watermark
		w.pass(time.Second)
		w.converged()
	})
}

// It stands still for a moment when it is moved to another log directory (KIP-113).
func TestAFollowerThatStandsStillTakesTheHighWatermarkWhenItGoesOn(t *testing.T) {
	each(t, func(w *world) {
		w.cut[[2]model.BrokerID{3, 1}] = true
		w.produce("a")
		w.pass(100 * time.Millisecond)
		h := w.brokers[2].process.handle
		h.Send(&replica.Freeze{Within: time.Hour, Done: func(end model.Offset, err error) {
			if end != 1 || err != nil {
				w.t.Errorf("it stands still at %d, %v", end, err)
			}
		}})
		w.run()
		clear(w.cut)
		w.pass(100 * time.Millisecond)
		w.acknowledged(1)
		h.Send(&replica.Thaw{})
		w.pass(time.Second)
		w.converged()
	})
}

// A supervisor restarts the replica; the followers, who have nothing new to say, are in sync all the same.
func TestALeaderThatPanicsGoesOnWithItsFollowers(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b")
		w.pass(100 * time.Millisecond)
		w.panics(1)
		w.pass(3 * lagMax)
		w.produce("c")
		w.pass(time.Second)
		w.acknowledged(3)
		w.converged()
	})
}

func TestAFollowerThatPanicsGoesOn(t *testing.T) {
	each(t, func(w *world) {
		w.produce("a", "b")
		w.run()
		w.panics(2)
		w.produce("c")
		w.pass(time.Second)
		w.acknowledged(3)
		w.converged()
	})
}

// bomb is a watcher that panics, once.
type bomb struct{ went bool }

func (b *bomb) Unwatched(uint32) {}

func (b *bomb) Changed(*kit.Turn, uint32) {
	if !b.went {
		b.went = true
		panic("a bomb among the watchers")
	}
}

func (w *world) panics(id model.BrokerID) {
	w.brokers[id].process.handle.Send(&replica.Watch{Watcher: &bomb{}, Seen: -2, Once: true})
}

// Kills, power cuts, panics, cut links and elections, in the order that a seed draws. The controller elects among those in sync, and
// takes who lost power out of the ISR before it is let in again (facts/replication.md 7, 8).
func TestNothingAcknowledgedIsLostWhateverBreaks(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(t, seed)
		w.trouble(rand.New(rand.NewPCG(seed, 1)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func (w *world) trouble(r *rand.Rand) {
	for i := range 40 {
		id := w.ids[r.IntN(len(w.ids))]
		switch b := w.brokers[id]; r.IntN(9) {
		case 5:
			if b.process != nil {
				w.panics(id)
			}
		case 0:
			if b.process != nil && w.spared(id) {
				w.kill(id, r.IntN(2) == 0)
				w.depart(id)
			}
		case 1:
			if b.process == nil {
				w.start(id)
				w.comeBack(id)
			}
		case 2:
			w.cut[[2]model.BrokerID{id, w.ids[r.IntN(len(w.ids))]}] = true
		case 3:
			clear(w.cut)
		case 4:
			if b.process != nil && slices.Contains(w.state.ISR, id) {
				w.elect(id, w.state.ISR...)
			}
		default:
			if w.state.Leader != model.NoBroker {
				w.produce(fmt.Sprint("record ", i))
			}
		}
		for range r.IntN(200) {
			w.order.Step()
		}
		w.pass(time.Duration(r.IntN(4)) * 10 * time.Millisecond)
		if r.IntN(20) == 0 {
			w.pass(2 * lagMax)
		}
	}
	clear(w.cut)
	for _, id := range w.ids {
		if w.brokers[id].process == nil {
			w.start(id)
			w.comeBack(id)
		}
	}
	w.pass(3 * time.Second)
	w.produce("the end")
	w.pass(3 * time.Second)
	if last := w.sent[len(w.sent)-1]; !last.done || last.code != kerr.None {
		w.t.Errorf("at the end a record is answered with %v, %s", last.done, last.code.Name())
	}
	w.converged()
}

// spared tells that somebody in sync is left who runs when a broker is killed.
func (w *world) spared(id model.BrokerID) bool {
	return slices.ContainsFunc(w.state.ISR, func(o model.BrokerID) bool { return o != id && w.brokers[o].process != nil })
}

// depart is what the controller does about a broker that is gone.
func (w *world) depart(id model.BrokerID) {
	isr := slices.DeleteFunc(slices.Clone(w.state.ISR), func(o model.BrokerID) bool { return o == id })
	leader := w.state.Leader
	if leader == id {
		leader = isr[slices.IndexFunc(isr, func(o model.BrokerID) bool { return w.brokers[o].process != nil })]
	}
	if len(isr) < len(w.state.ISR) {
		w.elect(leader, isr...)
	}
	w.recheck()
}

// comeBack lets a broker in again.
func (w *world) comeBack(id model.BrokerID) {
	w.brokers[id].unclean = false
	w.recheck()
}
