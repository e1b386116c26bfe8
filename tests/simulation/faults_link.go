package simulation

import "time"

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
		w.cutFor(way[0], way[1], everyPort, away)
	}
	return true
}

// cutFor cuts one way of a link, or of the connections to one port, for a while.
func (w *World) cutFor(from, to, port int, away time.Duration) {
	w.note("cut", "from %d to %d, port %d, for %s", from, to, port, away)
	w.net.cut(from, to, port)
	w.after(away, func() {
		w.note("heal", "from %d to %d, port %d", from, to, port)
		w.net.heal(from, to, port)
	})
}

// isolationFault cuts a node from all others, but not from clients: the zombie that serves on.
func (w *World) isolationFault(h *host) bool {
	w.isolate(h, w.downtime())
	return true
}

func (w *World) isolate(h *host, away time.Duration) {
	w.note("isolation", "node %d, for %s", h.id, away)
	w.gossip(h, away)
	for _, o := range w.hosts {
		if o != h {
			w.net.cut(h.id, o.id, everyPort)
			w.net.cut(o.id, h.id, everyPort)
		}
	}
	w.after(away, func() {
		w.note("heal", "node %d and the others", h.id)
		for _, o := range w.hosts {
			w.net.heal(h.id, o.id, everyPort)
			w.net.heal(o.id, h.id, everyPort)
		}
	})
}

// zombieFault isolates whoever leads the most, long enough to be replaced, with clients that go on to ask it.
func (w *World) zombieFault(*host) bool {
	leads := map[int]int{}
	for t := range w.checks.images.newest.Topics("") {
		for _, p := range t.Partitions {
			leads[int(p.Leader)]++
		}
	}
	most := w.hosts[0]
	for _, h := range w.hosts {
		if leads[h.id] > leads[most.id] {
			most = h
		}
	}
	if leads[most.id] == 0 {
		return false
	}
	w.isolate(most, w.between(3*time.Second, 8*time.Second))
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

// roughFault has what other nodes' rafts send to a node get lost, come twice, or come after what was sent later, as over
// connections that break and are made again.
func (w *World) roughFault(h *host) bool {
	away := w.downtime()
	w.note("rough", "what raft sends to node %d, for %s", h.id, away)
	h.rough = true
	w.after(away, func() { h.rough = false })
	return true
}
