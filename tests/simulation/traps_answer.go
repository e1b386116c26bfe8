package simulation

import "time"

// answerTrap waits for a producer to send a batch, and loses the answer with the leader, when followers have the batch: what is
// sent again is there already, and the next leader has to know.
type answerTrap struct {
	delay   time.Duration // until the leader is struck
	strike  func(*World, *host, time.Duration)
	away    time.Duration
	held    time.Duration // what the leader answers
	expires time.Duration
}

// lostAnswerFault sets such a trap.
func (w *World) lostAnswerFault(*host) bool {
	t := &answerTrap{delay: w.between(time.Millisecond, 50*time.Millisecond), away: w.downtime(), expires: w.since() + trapFor}
	t.held = t.delay + w.between(100*time.Millisecond, 2*time.Second)
	strikes := []func(*World, *host, time.Duration){(*World).kill, (*World).cutPower, (*World).halt, (*World).isolate}
	t.strike = strikes[w.random.IntN(len(strikes))]
	w.traps.answer = t
	return true
}

// produces is told of a batch that leaves for a leader.
func (t *traps) produces(client, leader int) {
	w, armed := t.world, t.answer
	if armed == nil || w.since() > armed.expires {
		return
	}
	h := w.host(leader)
	if h.process == nil || h.process.paused {
		return
	}
	t.answer = nil
	w.note("trap", "a batch leaves for node %d", h.id)
	w.cover.meet(trapSprung)
	w.cutFor(leader, client, everyPort, armed.held)
	w.after(armed.delay, func() { t.hit(h, armed.strike, armed.away) })
}
