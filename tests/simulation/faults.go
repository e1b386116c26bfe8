package simulation

import (
	"math/rand/v2"
	"slices"
	"time"
)

// fault is a kind of thing that goes wrong, or that an operator does. do begins one and tells when it is over; it returns
// false where it cannot be done now.
type fault struct {
	name   string
	weight int
	// nodes is how many nodes it needs.
	nodes int
	do    func(*World, *host) bool
}

// faults by their weight in the draw.
var faults = []fault{
	{"crash", 6, 1, (*World).crashFault},
	{"power", 4, 1, (*World).powerFault},
	{"pause", 3, 1, (*World).pauseFault},
	{"blackout", 2, 3, (*World).blackoutFault},
	{"wipe", 3, 3, (*World).wipeFault},
	{"slow disk", 3, 1, (*World).slowDiskFault},
	{"failing disk", 2, 1, (*World).failingDiskFault},
	{"clock", 2, 1, (*World).clockFault},
	{"cut", 4, 1, (*World).cutFault},
	{"slow link", 2, 1, (*World).slowLinkFault},
	{"reset", 2, 1, (*World).resetFault},
	{"isolation", 4, 2, (*World).isolationFault},
	{"zombie", 3, 3, (*World).zombieFault},
	{"rough quorum", 3, 2, (*World).roughFault},
	{"late proposal", 7, 3, (*World).lateProposalFault},
	{"lost commit", 5, 3, (*World).lostCommitFault},
	{"lost answer", 4, 3, (*World).lostAnswerFault},
	{"elder", 4, 3, (*World).elderFault},
	{"rumour", 2, 2, (*World).rumourFault},
	{"voter removed", 2, 3, (*World).removeVoterFault},
	{"reassignment", 3, 3, (*World).reassignFault},
	{"deleted records", 2, 1, (*World).deleteRecordsFault},
	{"renewed topic", 3, 1, (*World).renewTopicFault},
}

// schedule spreads the faults over the time. Each draws from a seed of its own, so that it stays what it is when others are
// left out.
func (w *World) schedule() {
	total := 0
	for _, f := range faults {
		if f.nodes <= len(w.hosts) {
			total += f.weight
		}
	}
	for i := range w.Size.Faults {
		if w.Only != nil && !slices.Contains(w.Only, i) {
			continue
		}
		own := rand.New(rand.NewPCG(w.Seed, uint64(i)+1))
		at := time.Duration(own.Int64N(int64(w.Size.Time)))
		w.after(at, func() {
			if !w.over {
				w.with(own, func() { w.strike(total, i) })
			}
		})
	}
}

// with lets something draw from a source of its own.
func (w *World) with(source *rand.Rand, f func()) {
	world := w.random
	w.random = source
	f()
	w.random = world
}

// strike does a fault to a machine, both drawn; one that cannot be done is left out.
func (w *World) strike(total, number int) {
	h := w.hosts[w.random.IntN(len(w.hosts))]
	drawn := w.random.IntN(total)
	for _, f := range faults {
		if f.nodes > len(w.hosts) {
			continue
		}
		if drawn -= f.weight; drawn >= 0 {
			continue
		}
		if f.do(w, h) {
			w.struck = append(w.struck, number)
		}
		return
	}
}

// downtime is how long a machine that failed is away: most times shorter than anybody's patience.
func (w *World) downtime() time.Duration {
	if w.chance(4) {
		return w.between(5*time.Second, 30*time.Second)
	}
	return w.between(50*time.Millisecond, 3*time.Second)
}

// mend ends all faults.
func (w *World) mend() {
	w.over = true
	w.note("mend", "the faults are over")
	w.traps.disarm()
	w.net.healAll()
	for _, h := range w.hosts {
		h.diskErr, h.ioTime, h.rough = nil, healthyDisk, false
		if p := h.process; p != nil && p.paused {
			p.resume()
		}
		h.bringUp()
	}
}
