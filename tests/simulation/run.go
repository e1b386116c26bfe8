package simulation

import (
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"time"
)

// calm is how long a cluster without faults may take to serve everything again.
const calm = 2 * time.Minute

// Report is what came of a world.
type Report struct {
	Hash    uint64
	Events  uint64
	Records int
	Faults  []int         // that happened
	Took    time.Duration // simulated
	Last    string        // events
	Cover   []string
}

// Run lets a world happen from start to end. The error is the first violation.
func Run(o Options) (Report, error) {
	defer seedSystemRandomness(o.Seed)()
	w := New(o)
	w.run()
	return Report{
		Hash: w.history.hash, Events: w.steps, Records: w.load.records, Faults: w.struck, Took: w.since(),
		Last: w.history.last(), Cover: w.cover.list(),
	}, w.broken
}

func (w *World) run() {
	for _, h := range w.hosts {
		w.after(w.between(0, time.Second), h.bringUp)
	}
	w.load = newLoad(w)
	w.after(w.between(0, time.Second), w.load.start)
	w.checks.start()
	w.schedule()
	w.runUntil(w.began.Add(w.Size.Time), nil)
	w.mend()
	w.runUntil(w.clock.Now().Add(calm), w.converged)
	if w.broken == nil && !w.converged() {
		w.fail("%s after the last fault: %s", calm, w.unsettled())
	}
	if w.broken == nil {
		w.checks.final()
	}
}

// converged tells that all nodes serve and clients have what they want.
func (w *World) converged() bool { return w.unsettled() == "" }

// unsettled names what is not as it should be when all faults are over.
func (w *World) unsettled() string {
	for _, h := range w.hosts {
		if h.process == nil || !h.process.serving {
			return fmt.Sprintf("node %d does not serve", h.id)
		}
	}
	if !w.load.settled() {
		return fmt.Sprintf("clients wait: %d of %d records are acknowledged", w.load.records, w.Size.Records)
	}
	return w.checks.unsettled()
}

// seedSystemRandomness has everything that draws from the system's randomness draw from the seed, raft's timeouts and all
// ids among it. What it returns undoes that.
func seedSystemRandomness(seed uint64) func() {
	before := rand.Reader
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	rand.Reader = steady{mathrand.NewChaCha8(key)}
	return func() { rand.Reader = before }
}

// steady is a stream of bytes that a seed gives.
type steady struct{ source *mathrand.ChaCha8 }

func (s steady) Read(p []byte) (int, error) { return s.source.Read(p) }

var _ io.Reader = steady{}
