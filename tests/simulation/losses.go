package simulation

import (
	"slices"

	"troupe/cluster/image"
	"troupe/internal/model"
)

// losses knows which replicas may lack what they had acknowledged, because their machine lost what was not synced. Nothing
// may be lost while fewer than all of an ISR did; where all did, the partition is forgiven.
type losses struct {
	world *World
	// marks are the replicas that lost something since they last caught up. A mark goes when the replica leaves the ISR: then
	// it comes back only by replication.
	marks    map[model.TopicPartition]map[model.BrokerID]bool
	forgiven map[model.TopicPartition]bool
	// offsets tells that groups may have lost commits.
	offsets bool
}

// lost is told that a machine lost what was not synced. A lone node syncs before it acknowledges.
func (l *losses) lost(h *host, i *image.Image) {
	if len(l.world.hosts) == 1 {
		return
	}
	for t := range i.Topics("") {
		for n, p := range t.Partitions {
			if !slices.Contains(p.Replicas, model.BrokerID(h.id)) {
				continue
			}
			tp := model.TopicPartition{Topic: t.Name, Partition: int32(n)}
			if l.marks[tp] == nil {
				l.marks[tp] = map[model.BrokerID]bool{}
			}
			l.marks[tp][model.BrokerID(h.id)] = true
		}
	}
	l.look(i)
}

// look goes by the newest image.
func (l *losses) look(i *image.Image) {
	for tp, marks := range l.marks {
		p, ok := i.Partition(tp)
		if !ok {
			continue
		}
		holders := p.ISR
		if len(holders) == 0 {
			holders = p.ELR
		}
		all := len(holders) > 0
		for _, id := range holders {
			all = all && marks[id]
		}
		if all {
			l.forgive(tp)
		}
		for id := range marks {
			if !slices.Contains(p.ISR, id) && !slices.Contains(p.ELR, id) {
				delete(marks, id)
			}
		}
	}
}

func (l *losses) forgive(tp model.TopicPartition) {
	if l.forgiven[tp] {
		return
	}
	l.forgiven[tp] = true
	l.world.cover.meet("partition forgiven")
	l.offsets = l.offsets || tp.Topic == offsetsTopic
	if book := l.world.load.ledgers[tp.String()]; book != nil {
		book.forgiven = true
	}
}
