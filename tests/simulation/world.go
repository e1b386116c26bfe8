// Package simulation runs whole brokers, actors and files and all, in one goroutine under a clock, disks, links and
// randomness that a seed decides on. It breaks them, and checks what must hold whatever breaks.
package simulation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"troupe/internal/clock"
)

// Options of a world. The seed decides on everything that they leave open.
type Options struct {
	Seed uint64
	Size Size
	// Only are the numbers of the faults that happen; nil is all of them.
	Only []int
	// Story gets a line for each event; nil keeps only the last ones.
	Story io.Writer
	// Frames has the story tell every frame on every link.
	Frames bool
	// Brokers gets what the brokers log; nil drops it.
	Brokers io.Writer
}

// Size is how much happens in a world.
type Size struct {
	// Nodes is how many brokers there are, all of them voters.
	Nodes int
	// Time is how long faults and load go on.
	Time time.Duration
	// Faults is how many of them fall into that time.
	Faults int
	// Records is how many are to be acknowledged at least.
	Records int
}

// World is one simulated cluster with its clients. It is used by one goroutine.
type World struct {
	Options
	random  *rand.Rand
	clock   *clock.Manual
	began   time.Time
	hosts   []*host
	net     *network
	history history
	cover   coverage
	load    *load
	checks  *checks
	// broken is the first violation found; the world stops at it.
	broken error
	// static tells that the voters are named by the configuration (kraft.version 0): then none is changed, and no disk wiped.
	static          bool
	lagMax          time.Duration // replica.lag.time.max.ms
	pair            bool          // a topic has two replicas, both of which min.insync.replicas asks for
	checkpointBytes int
	traps           traps
	revisedUntil    time.Duration // until then a vote may be taken from a node
	over            bool          // no more faults
	struck          []int         // the faults that happened
	steps           uint64
}

// epoch is when every simulation begins.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// New makes a world whose nodes are not started yet.
func New(o Options) *World {
	w := &World{
		Options: o, random: rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15)), clock: clock.NewManual(epoch), began: epoch,
	}
	w.history = history{world: w, out: o.Story}
	w.net = newNetwork(w)
	w.checks = newChecks(w)
	w.traps = traps{world: w, open: map[replicaKey]expansion{}}
	w.static = w.chance(8)
	w.lagMax = []time.Duration{time.Second, time.Second, 3 * time.Second, 30 * time.Second}[w.random.IntN(4)]
	w.pair = w.chance(2)
	w.checkpointBytes = []int{1500, 4000, 20 << 20}[w.random.IntN(3)]
	for id := 1; id <= o.Size.Nodes; id++ {
		w.hosts = append(w.hosts, newHost(w, id))
	}
	if o.Size.Nodes > 1 {
		for _, h := range w.hosts {
			h.format(false)
		}
	}
	return w
}

// since is the simulated time that has passed.
func (w *World) since() time.Duration { return w.clock.Now().Sub(w.began) }

// after calls f in d, on the world's goroutine.
func (w *World) after(d time.Duration, f func()) { w.clock.AfterFunc(d, f) }

// fail notes the first violation.
func (w *World) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf(format, args...)
		w.note("VIOLATION", "%v", w.broken)
	}
}

// between draws a duration.
func (w *World) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random.Int64N(int64(most-least)+1))
}

// chance is true once in n.
func (w *World) chance(n int) bool { return w.random.IntN(n) == 0 }

// turnTime is about what an actor's turn takes. Time goes on while actors work, so that timers fall between any two turns.
const turnTime = 4 * time.Microsecond

// runUntil lets everything happen that happens before a moment; it ends early with a violation, or when done says so.
func (w *World) runUntil(end time.Time, done func() bool) {
	for w.broken == nil && w.clock.Now().Before(end) {
		if done != nil && done() {
			return
		}
		if w.step() {
			w.clock.Advance(turnTime)
			continue
		}
		next, ok := w.clock.Next()
		if !ok || next.After(end) {
			next = end
		}
		w.clock.Advance(next.Sub(w.clock.Now()))
	}
}

// step gives one actor of one node its turn; false when all sleep. Which node is drawn anew each time.
func (w *World) step() bool {
	first := w.random.IntN(len(w.hosts))
	for i := range w.hosts {
		h := w.hosts[(first+i)%len(w.hosts)]
		if h.process != nil && h.process.step() {
			w.steps++
			return true
		}
	}
	return false
}
