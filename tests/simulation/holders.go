package simulation

import (
	"slices"

	"troupe/cluster/image"
	"troupe/internal/model"
)

// holdersCheck: whoever may be elected has all that is committed. It is what the ISR and the ELR are for, and it is broken
// long before a client notices, which takes an election of the one that lacks something.
type holdersCheck struct {
	world *World
	// committed are the highest offsets that anybody took for committed: high watermarks, and what producers were told.
	committed map[replicaKey]model.Offset
}

// replicaKey names a partition through deletions of its topic.
type replicaKey struct {
	topic     model.TopicID
	partition int32
}

// saw notes that everything before an offset is committed.
func (c *holdersCheck) saw(k replicaKey, end model.Offset) {
	c.committed[k] = max(c.committed[k], end)
}

// look compares the logs with what they have to hold, by the newest image that anybody has: an ISR is acted on when it is
// applied by the node that proposed it.
func (c *holdersCheck) look(i *image.Image) {
	for t := range i.Topics("") {
		for n, p := range t.Partitions {
			tp := model.TopicPartition{Topic: t.Name, Partition: int32(n)}
			need := c.committed[replicaKey{t.ID, tp.Partition}]
			if c.world.checks.losses.forgiven[tp] {
				continue
			}
			for _, id := range slices.Concat(p.ISR, p.ELR) {
				if end, known := c.end(id, tp, t.ID); known && end < need {
					c.world.fail("%s: node %d has %d of %d committed records and may be elected: ISR %v, ELR %v, leader %d in epoch %d",
						tp, id, end, need, p.ISR, p.ELR, p.Leader, p.LeaderEpoch)
					return
				}
			}
		}
	}
}

// end is where the log of a replica ends. It is not known of a process that is not there, of a log that is not open, and of a
// disk that lost something.
func (c *holdersCheck) end(id model.BrokerID, tp model.TopicPartition, topic model.TopicID) (model.Offset, bool) {
	h := c.world.host(int(id))
	if h.process == nil || h.diskErr != nil || c.world.checks.losses.marked(id) {
		return 0, false
	}
	r := h.process.broker.Node().Replicas.Get(tp)
	if r == nil || r.TopicID != topic || r.View() == nil || !r.Status().Online {
		return 0, false
	}
	return r.View().LogEnd, true
}
