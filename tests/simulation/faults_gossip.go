package simulation

import (
	"time"

	"troupe/actors/controller"
	"troupe/internal/model"
)

// What nodes hear of each other by gossip (actors/membership) is a hint, right or wrong, which may cost a question and nothing
// else. Gossip itself needs sockets, so that the simulator tells the hints.

// hintEvery parts two hints about one node.
const hintEvery = time.Second

// rumourFault has other nodes suspect one that is well, again and again.
func (w *World) rumourFault(h *host) bool {
	away := w.downtime()
	w.note("rumour", "node %d is suspected, for %s", h.id, away)
	w.suspect(h, w.since()+away)
	return true
}

// gossip has the others hear of a node that does not answer, or not.
func (w *World) gossip(h *host, away time.Duration) {
	if !w.chance(2) {
		return
	}
	until := w.since() + away
	w.after(w.between(100*time.Millisecond, 500*time.Millisecond), func() { w.suspect(h, until) })
}

// suspect gives a hint to each of the others, most times, until a moment.
func (w *World) suspect(h *host, until time.Duration) {
	if w.over || w.since() > until {
		return
	}
	for _, o := range w.hosts {
		if p := o.process; p != nil && o != h && !w.chance(4) {
			p.run(func() { p.broker.Node().Controller.Send(&controller.Suspected{Node: model.BrokerID(h.id)}) })
		}
	}
	w.cover.meet(suspicion)
	w.after(hintEvery, func() { w.suspect(h, until) })
}
