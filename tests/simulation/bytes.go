package simulation

import (
	"fmt"
	"hash/crc32"
	"time"

	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// byteCheck: below their high watermarks replicas hold the same bytes, in every life.
type byteCheck struct {
	world      *World
	partitions map[model.TopicPartition]*replicated
}

// replicated is what is known of a partition's committed bytes.
type replicated struct {
	topic model.TopicID
	// batches are the checksums of whole batches by their base offset.
	batches map[model.Offset]sighting
	// checked is how far the log of a process was compared, ends where the log ended at the last look.
	checked, ends map[*process]model.Offset
	// logs are what was looked at: a replica that was taken away and comes back begins with an empty one.
	logs map[*process]*replica.Handle
}

// sighting is a batch as it was first seen, and where and when.
type sighting struct {
	sum   uint32
	last  model.Offset
	epoch model.LeaderEpoch
	node  int
	life  int
	at    time.Duration
}

func (s sighting) String() string {
	return fmt.Sprintf("to %d of epoch %d at node %d, life %d, after %s", s.last, s.epoch, s.node, s.life, s.at.Round(time.Millisecond))
}

// lookBytes is how much of a log is read at once.
const lookBytes = 1 << 16

func (c *byteCheck) look(p *process, r *replica.Handle) {
	known := c.partitions[r.TP]
	if known == nil || known.topic != r.TopicID {
		known = &replicated{topic: r.TopicID, batches: map[model.Offset]sighting{}, checked: map[*process]model.Offset{}, ends: map[*process]model.Offset{},
			logs: map[*process]*replica.Handle{}}
		c.partitions[r.TP] = known
	}
	v := r.View()
	if v == nil || !r.Status().Online {
		return
	}
	if known.logs[p] != r {
		known.logs[p] = r
		delete(known.checked, p)
		delete(known.ends, p)
	}
	c.truncated(p, r, known, v.LogEnd)
	from := max(known.checked[p], v.LogStart)
	if from >= v.HighWatermark {
		return
	}
	region, err := v.Read(from, v.HighWatermark, lookBytes, true)
	if err != nil {
		return // the disk fails, or the log has moved on
	}
	defer region.Release()
	if region.Len == 0 {
		return // compaction has left nothing between what was compared and the high watermark
	}
	b := make([]byte, region.Len)
	if _, err := region.File.ReadAt(b, region.Pos); err != nil {
		return
	}
	for len(b) > 0 {
		one, rest, err := batch.First(b)
		if err != nil {
			break
		}
		if err := one.CheckCRC(); err != nil && !c.world.checks.losses.forgiven[r.TP] {
			c.world.fail("%s: the committed batch at offset %d of node %d, life %d, is damaged: %w", r.TP, one.BaseOffset(), p.host.id, p.life, err)
			return
		}
		c.compare(p, r, known, one)
		known.checked[p] = one.NextOffset()
		b = rest
	}
}

// truncated looks for logs that got shorter: never below what was committed.
func (c *byteCheck) truncated(p *process, r *replica.Handle, known *replicated, end model.Offset) {
	if end < known.checked[p] && !c.world.checks.losses.forgiven[r.TP] {
		c.world.fail("%s: node %d has cut its log to %d, %d was committed", r.TP, p.host.id, end, known.checked[p])
	}
	if end < known.ends[p] {
		c.world.cover.meet(truncation)
	}
	known.ends[p], known.checked[p] = end, min(known.checked[p], end)
}

func (c *byteCheck) compare(p *process, r *replica.Handle, known *replicated, b batch.View) {
	if r.TP.Topic != offsetsTopic {
		c.same(p, r, known, b.BaseOffset(), sighting{sum: crc32.ChecksumIEEE(b), last: b.LastOffset(), epoch: b.LeaderEpoch()})
		return
	}
	// Compaction takes records out of a batch, on each node in its own time; those that are left do not change.
	if err := b.Each(func(one batch.Record) error {
		sum := crc32.Update(crc32.ChecksumIEEE(one.Key), crc32.IEEETable, one.Value)
		c.same(p, r, known, one.Offset, sighting{sum: sum, last: one.Offset, epoch: b.LeaderEpoch()})
		return nil
	}); err != nil {
		c.world.fail("%s: node %d: %w", r.TP, p.host.id, err)
	}
}

// same holds what stands at an offset against what stood there before.
func (c *byteCheck) same(p *process, r *replica.Handle, known *replicated, at model.Offset, now sighting) {
	now.node, now.life, now.at = p.host.id, p.life, c.world.since()
	other, ok := known.batches[at]
	switch {
	case !ok:
		known.batches[at] = now
	case other.sum != now.sum && !c.world.checks.losses.forgiven[r.TP]:
		c.world.fail("%s: what is committed at offset %d differs: %s; before %s", r.TP, at, now, other)
	}
}
