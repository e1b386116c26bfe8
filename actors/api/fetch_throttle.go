package api

import (
	"slices"
	"time"

	"troupe/actors/kit"
	"troupe/internal/clock"
	"troupe/internal/model"
)

// holding is a follower's fetch from which the quota of leaders holds records back (KIP-73).
type holding struct {
	until time.Time // of the quota, when it was asked last; zero while nothing is held back
	timer clock.Timer
}

// heldBack tells that a follower gets the marks of a partition and no records: it is throttled, not in sync, and the quota is
// exceeded. One in sync is served, since it would leave the ISR.
func (n *Node) heldBack(p *fetchPart, lim *fetchLimits) bool {
	if !lim.follows() || !p.handle.Config().LeaderThrottled.Has(p.partition, n.ID) {
		return false
	}
	until, exceeded := n.LeaderQuota.Exceeded(n.Clock.Now())
	if !exceeded {
		return false
	}
	if at, ok := n.Image().Partition(p.handle.TP); ok && slices.Contains(at.ISR, model.BrokerID(lim.id)) {
		return false
	}
	lim.heldUntil = until
	return true
}

// wakeLater has a poll that waits asked again when the quota is free.
func (h *holding) wakeLater(c clock.Clock, wake kit.Errand) {
	h.stop()
	if !h.until.IsZero() {
		h.timer = c.AfterFunc(h.until.Sub(c.Now()), wake.Elsewhere)
	}
}

func (h *holding) stop() {
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

// recordThrottled counts what a follower is given of throttled partitions: of those in sync too, since the whole is to be at the
// limit. Kafka counts the frame of the reply with it, which is nothing beside the records.
func (op *fetchOp) recordThrottled() {
	if !op.reader.follows() {
		return
	}
	bytes := int64(0)
	for i := range op.results {
		res := &op.results[i]
		if res.region.Len > 0 && res.part.handle.Config().LeaderThrottled.Has(res.part.partition, op.node.ID) {
			bytes += res.region.Len
		}
	}
	op.node.LeaderQuota.Record(bytes, op.node.Clock.Now())
}
