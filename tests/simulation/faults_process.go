package simulation

import "time"

// bringUp starts a machine that is down, when its time has come or the faults are over.
func (h *host) bringUp() {
	h.off = false
	if h.process != nil || h.dying { // who loses its power is brought up after that
		return
	}
	h.resetClock()
	h.start()
}

func (w *World) crashFault(h *host) bool {
	if h.process == nil {
		return false
	}
	w.kill(h, w.downtime())
	return true
}

// kill ends a process for a while.
func (w *World) kill(h *host, away time.Duration) {
	w.note("crash", "node %d, for %s", h.id, away)
	h.crash()
	w.gossip(h, away)
	w.after(away, h.bringUp)
}

// powerFault cuts the power, most times in the middle of what the disk is at.
func (w *World) powerFault(h *host) bool {
	if h.off {
		return false
	}
	away, calls := w.downtime(), w.random.IntN(20)
	h.dying = true
	h.disk.CutAfter(calls)
	w.after(w.between(0, 50*time.Millisecond), func() {
		w.note("power", "node %d loses it within %d calls of its disk, for %s", h.id, calls, away)
		w.cutPower(h, away)
	})
	return true
}

// cutPower takes what was not synced.
func (w *World) cutPower(h *host, away time.Duration) {
	h.losePower()
	w.checks.losses.lost(h, w.checks.images.newest)
	w.gossip(h, away)
	w.after(away, h.bringUp)
}

// blackoutFault ends all processes one after the other, followers or leaders first; one of the machines may lose its power.
func (w *World) blackoutFault(h *host) bool {
	apart := []time.Duration{0, 300 * time.Millisecond, 4 * time.Second}[w.random.IntN(3)]
	powerless := w.chance(3)
	w.note("blackout", "%s apart, first node %d", apart, h.id)
	for i := range w.hosts {
		o, away := w.hosts[(h.id-1+i)%len(w.hosts)], w.downtime()
		w.after(time.Duration(i)*apart, func() {
			switch {
			case w.over || o.off:
			case i == 0 && powerless:
				w.cutPower(o, away)
			case o.process != nil:
				w.kill(o, away)
			}
		})
	}
	return true
}

func (w *World) pauseFault(h *host) bool {
	if h.process == nil || h.process.paused {
		return false
	}
	w.halt(h, w.downtime())
	return true
}

// halt has a process stand still for a while.
func (w *World) halt(h *host, away time.Duration) {
	p := h.process
	w.note("pause", "node %d, for %s", h.id, away)
	p.pause()
	w.gossip(h, away)
	w.after(away, func() {
		if !p.dead && p.paused {
			w.note("resume", "node %d", h.id)
			p.resume()
		}
	})
}

// clockFault sets a machine's clock, as an operator or a time server does that does not slew it. Timers go on; but what a
// process computes from two looks at the clock jumps, more than in production, where time has a monotonic part.
func (w *World) clockFault(h *host) bool {
	by := w.between(-10*time.Second, 10*time.Second)
	w.note("clock", "node %d is set by %s", h.id, by)
	h.skew += by
	return true
}
