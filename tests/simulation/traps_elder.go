package simulation

import (
	"slices"
	"time"

	"troupe/cluster/image"
	"troupe/internal/model"
)

// elderTrap waits for the last member of an ISR to be alone with an eligible leader that is away, and has it begin a new life:
// then the other leads when it is back, which has all that was acknowledged (KIP-966).
type elderTrap struct {
	partition replicaKey
	away      time.Duration
	expires   time.Duration
}

// elderFault has a node stand still that is one of two replicas, for longer than anybody waits for it, and sets such a trap.
func (w *World) elderFault(*host) bool {
	var pairs []replicaKey
	newest := w.checks.images.newest
	for t := range newest.Topics("") {
		for n, p := range t.Partitions {
			if len(p.Replicas) == 2 && len(p.ISR) == 2 {
				pairs = append(pairs, replicaKey{t.ID, int32(n)})
			}
		}
	}
	if len(pairs) == 0 {
		return false
	}
	k := pairs[w.random.IntN(len(pairs))]
	h := w.host(int(w.traps.isr(k.topic, k.partition)[w.random.IntN(2)]))
	if h.process == nil || h.process.paused {
		return false
	}
	w.traps.elder = &elderTrap{partition: k, away: w.between(50*time.Millisecond, 500*time.Millisecond), expires: w.since() + trapFor}
	w.halt(h, w.between(4*time.Second, 8*time.Second))
	return true
}

// changed is told of each image that is newer than all before.
func (t *traps) changed(i *image.Image) {
	w, armed := t.world, t.elder
	if armed == nil || w.since() > armed.expires {
		return
	}
	topic, ok := i.TopicByID(armed.partition.topic)
	if !ok {
		return
	}
	p, ok := topic.Partition(armed.partition.partition)
	if !ok || len(p.ISR) != 1 || !slices.ContainsFunc(p.ELR, func(id model.BrokerID) bool { return id != p.ISR[0] }) {
		return
	}
	t.elder = nil
	w.note("trap", "node %d is alone in an ISR, node %v may lead, too", p.ISR[0], p.ELR)
	w.cover.meet(trapSprung)
	t.hit(w.host(int(p.ISR[0])), (*World).kill, armed.away)
}
