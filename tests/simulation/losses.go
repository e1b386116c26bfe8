package simulation

import (
	"maps"
	"slices"

	"troupe/cluster/image"
	"troupe/internal/model"
)

// losses knows which machines may lack what they had acknowledged, because their disk lost what was not synced, or was
// replaced. Nothing may be lost while fewer than all of an ISR did; where all did, the partition is forgiven.
type losses struct {
	world *World
	// marks are the lives in which machines lost something. A mark goes when a later life of the machine is registered: what
	// that one is in the ISR of, it has to have.
	marks    map[model.BrokerID]int
	forgiven map[model.TopicPartition]bool
	// offsets tells that groups may have lost commits.
	offsets bool
	before  *image.Image // that was looked at last
}

// minISR is min.insync.replicas of all topics.
const minISR = 2

// lost is told that a machine lost what was not synced. A lone node syncs before it acknowledges.
func (l *losses) lost(h *host, i *image.Image) {
	if len(l.world.hosts) == 1 {
		return
	}
	l.marks[model.BrokerID(h.id)] = h.lives
	l.look(i)
}

// marked tells that a replica is not to be counted on.
func (l *losses) marked(id model.BrokerID) bool { _, is := l.marks[id]; return is }

// look goes by the newest image.
func (l *losses) look(i *image.Image) {
	before := l.before
	l.before = i
	if len(l.marks) == 0 {
		return
	}
	for t := range i.Topics("") {
		for n, p := range t.Partitions {
			tp := model.TopicPartition{Topic: t.Name, Partition: int32(n)}
			if l.all(holders(p)) || l.between(before, i, t.ID, tp) {
				l.forgive(tp)
			}
		}
	}
	maps.DeleteFunc(l.marks, func(id model.BrokerID, life int) bool {
		b, ok := i.Broker(id)
		return ok && l.world.host(int(id)).incarnations[b.IncarnationID] > life
	})
}

// holders are those who have to have what was acknowledged.
func holders(p *image.Partition) []model.BrokerID {
	if len(p.ISR) > 0 {
		return p.ISR
	}
	return p.ELR
}

// all tells that all of them lost something.
func (l *losses) all(ids []model.BrokerID) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id model.BrokerID) bool { return !l.marked(id) })
}

// between tells that all of an ISR lost something which no image showed that anybody had: several records came with one, and nobody
// is left who may be elected. Who is not marked left the ISR for being away, and for good, while at least min.insync.replicas stayed.
func (l *losses) between(before, after *image.Image, topic model.TopicID, tp model.TopicPartition) bool {
	now, _ := after.Partition(tp)
	if len(holders(now)) > 0 || before == nil {
		return false
	}
	was, ok := before.Partition(tp)
	if t, same := before.Topic(tp.Topic); !ok || !same || t.ID != topic {
		return false
	}
	lost := 0
	for _, id := range holders(was) {
		b, known := after.Broker(id)
		switch {
		case l.marked(id):
			lost++
		case known && b.Active():
			return false
		}
	}
	return lost >= minISR
}

func (l *losses) forgive(tp model.TopicPartition) {
	if book := l.world.load.ledgers[tp.String()]; book != nil { // another one than before, where the topic was made again
		book.forgiven = true
	}
	if l.forgiven[tp] {
		return
	}
	l.forgiven[tp] = true
	l.world.note("forgiven", "%s: all that had to have its records lost what was not synced", tp)
	l.world.cover.meet(forgiveness)
	l.offsets = l.offsets || tp.Topic == offsetsTopic
}
