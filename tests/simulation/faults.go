package simulation

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// fault is a kind of thing that goes wrong. do begins one and tells when it is over; it returns false where it cannot be
// done now.
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
	{"slow disk", 3, 1, (*World).slowDiskFault},
	{"failing disk", 2, 1, (*World).failingDiskFault},
	{"cut", 4, 1, (*World).cutFault},
	{"slow link", 2, 1, (*World).slowLinkFault},
	{"reset", 2, 1, (*World).resetFault},
	{"isolation", 3, 2, (*World).isolationFault},
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

// bringUp starts a machine that is down, when its time has come or the faults are over.
func (h *host) bringUp() {
	h.off = false
	if h.process != nil {
		return
	}
	h.resetClock()
	h.start()
}

func (w *World) crashFault(h *host) bool {
	if h.process == nil {
		return false
	}
	away := w.downtime()
	w.note("crash", "node %d, for %s", h.id, away)
	h.crash()
	w.after(away, h.bringUp)
	return true
}

// powerFault cuts the power, most times in the middle of what the disk is at.
func (w *World) powerFault(h *host) bool {
	if h.off {
		return false
	}
	away, calls := w.downtime(), w.random.IntN(20)
	h.disk.CutAfter(calls)
	w.after(w.between(0, 50*time.Millisecond), func() {
		w.note("power", "node %d loses it within %d calls of its disk, for %s", h.id, calls, away)
		h.losePower()
		w.checks.losses.lost(h, w.checks.images.newest)
		w.after(away, h.bringUp)
	})
	return true
}

func (w *World) pauseFault(h *host) bool {
	p := h.process
	if p == nil || p.paused {
		return false
	}
	away := w.downtime()
	w.note("pause", "node %d, for %s", h.id, away)
	p.pause()
	w.after(away, func() {
		if !p.dead && p.paused {
			w.note("resume", "node %d", h.id)
			p.resume()
		}
	})
	return true
}

func (w *World) slowDiskFault(h *host) bool {
	h.ioTime = w.between(2*time.Millisecond, 150*time.Millisecond)
	away := w.downtime()
	w.note("slow disk", "node %d takes %s, for %s", h.id, h.ioTime, away)
	w.after(away, func() { h.ioTime = healthyDisk })
	return true
}

// failingDiskFault lets every write and sync fail. A broker without a disk ends; it is started when the disk is mended.
func (w *World) failingDiskFault(h *host) bool {
	if h.process == nil || h.diskErr != nil {
		return false
	}
	errs := []error{syscall.EIO, syscall.ENOSPC}
	err, away := errs[w.random.IntN(len(errs))], w.downtime()
	w.note("disk fails", "node %d: %v, for %s", h.id, err, away)
	h.diskErr = err
	w.after(away, func() {
		w.note("disk works", "node %d", h.id)
		h.diskErr = nil
		if !h.off {
			h.bringUp()
		}
	})
	return true
}

// cutFault cuts a link, one way or both.
func (w *World) cutFault(h *host) bool {
	all := w.net.machines()
	other := all[w.random.IntN(len(all))]
	if other == h.id {
		return false
	}
	ways := [][2]int{{h.id, other}, {other, h.id}}
	switch w.random.IntN(3) {
	case 0:
		ways = ways[:1]
	case 1:
		ways = ways[1:]
	}
	away := w.downtime()
	for _, way := range ways {
		w.note("cut", "from %d to %d, for %s", way[0], way[1], away)
		w.net.cut(way[0], way[1])
	}
	w.after(away, func() {
		for _, way := range ways {
			w.note("heal", "from %d to %d", way[0], way[1])
			w.net.heal(way[0], way[1])
		}
	})
	return true
}

// isolationFault cuts a node from all others, but not from clients: the zombie that serves on.
func (w *World) isolationFault(h *host) bool {
	away := w.downtime()
	w.note("isolation", "node %d, for %s", h.id, away)
	for _, o := range w.hosts {
		if o != h {
			w.net.cut(h.id, o.id)
			w.net.cut(o.id, h.id)
		}
	}
	w.after(away, func() {
		w.note("heal", "node %d and the others", h.id)
		for _, o := range w.hosts {
			w.net.heal(h.id, o.id)
			w.net.heal(o.id, h.id)
		}
	})
	return true
}

func (w *World) slowLinkFault(h *host) bool {
	away := w.downtime()
	w.net.slow[h.id] = w.between(time.Millisecond, 300*time.Millisecond)
	w.note("slow link", "from %d: %s, for %s", h.id, w.net.slow[h.id], away)
	w.after(away, func() { delete(w.net.slow, h.id) })
	return true
}

// resetFault breaks the connections of a machine.
func (w *World) resetFault(h *host) bool {
	ends := w.net.of(h.id)
	w.note("reset", "%d connections of node %d", len(ends), h.id)
	for _, e := range ends {
		e.close()
	}
	return len(ends) > 0
}

// mend ends all faults.
func (w *World) mend() {
	w.over = true
	w.note("mend", "the faults are over")
	w.net.healAll()
	for _, h := range w.hosts {
		h.diskErr, h.ioTime = nil, healthyDisk
		if p := h.process; p != nil && p.paused {
			p.resume()
		}
		h.bringUp()
	}
}
