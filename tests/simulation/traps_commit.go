package simulation

import "time"

// commitTrap waits for a group to commit, and strikes its coordinator before the commit arrives, or in the moments in which it is
// appended, copied and answered.
type commitTrap struct {
	delay   time.Duration
	strike  func(*World, *host, time.Duration)
	away    time.Duration
	expires time.Duration
}

// lostCommitFault sets such a trap. A coordinator that is cut off takes the commit and cannot have it committed; its clients go on
// to ask it, until another one leads and has none of it.
func (w *World) lostCommitFault(*host) bool {
	t := &commitTrap{expires: w.since() + trapFor}
	if w.chance(2) {
		t.delay = w.between(0, 3*time.Millisecond)
	}
	switch w.random.IntN(5) {
	case 0:
		t.strike, t.away = (*World).halt, w.between(3*time.Second, 8*time.Second)
	case 1:
		t.strike, t.away = (*World).cutPower, w.downtime()
	default:
		t.strike, t.away = (*World).isolate, w.between(3*time.Second, 12*time.Second)
	}
	w.traps.commit = t
	return true
}

// commits is told of a commit that leaves for a coordinator.
func (t *traps) commits(coordinator int) {
	w, armed := t.world, t.commit
	if armed == nil || w.since() > armed.expires {
		return
	}
	h := w.host(coordinator)
	if h.process == nil || h.process.paused {
		return
	}
	t.commit = nil
	w.note("trap", "a commit leaves for node %d", h.id)
	w.cover.meet(trapSprung)
	w.after(armed.delay, func() { t.hit(h, armed.strike, armed.away) })
}
