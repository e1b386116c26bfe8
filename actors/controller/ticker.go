package controller

import (
	"sync/atomic"
	"time"

	"troupe/actors/kit"
	"troupe/internal/clock"
)

// electionTicks is how many ticks controller.quorum.election.timeout.ms has; a leader shows itself at each of them.
const electionTicks = 10

// tick is raft's time going on.
type tick struct{ of *ticker }

func (*tick) MessageKind() string { return "controller.tick" }

// ticker moves raft's time by the clock, on goroutines of its own: an actor that is held up must not find that its leader
// was silent meanwhile. So there is one tick in its mailbox at the most; the others are not made up for.
type ticker struct {
	clock   clock.Clock
	every   time.Duration
	actor   kit.Ref
	waiting atomic.Bool
	stopped atomic.Bool
}

func (t *ticker) fire() {
	if t.stopped.Load() {
		return
	}
	if t.waiting.CompareAndSwap(false, true) {
		t.actor.Send(&tick{t})
	}
	t.clock.AfterFunc(t.every, t.fire)
}

func (t *ticker) stop() { t.stopped.Store(true) }

// pace is the length of a tick.
func (a *Actor) pace() time.Duration { return a.deps.Config.Quorum.ElectionTimeout / electionTicks }

func (a *Actor) ticked(m *tick) {
	m.of.waiting.Store(false)
	if m.of == a.ticker && a.raft != nil {
		a.raft.Tick()
	}
}
