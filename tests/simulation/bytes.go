package simulation

import (
	"hash/crc32"

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
	batches map[model.Offset]uint32
	// checked is how far the log of a process was compared.
	checked map[*process]model.Offset
}

// lookBytes is how much of a log is read at once.
const lookBytes = 1 << 16

func (c *byteCheck) look(p *process, r *replica.Handle) {
	known := c.partitions[r.TP]
	if known == nil || known.topic != r.TopicID {
		known = &replicated{topic: r.TopicID, batches: map[model.Offset]uint32{}, checked: map[*process]model.Offset{}}
		c.partitions[r.TP] = known
	}
	v := r.View()
	if v == nil || !r.Status().Online {
		return
	}
	from := max(known.checked[p], v.LogStart)
	if from >= v.HighWatermark {
		return
	}
	region, err := v.Read(from, v.HighWatermark, lookBytes, true)
	if err != nil {
		return // the disk fails, or the log has moved on
	}
	defer region.Release()
	b := make([]byte, region.Len)
	if _, err := region.File.ReadAt(b, region.Pos); err != nil {
		return
	}
	for len(b) > 0 {
		one, rest, err := batch.First(b)
		if err != nil {
			break
		}
		c.compare(p, r, known, one)
		known.checked[p] = one.NextOffset()
		b = rest
	}
}

func (c *byteCheck) compare(p *process, r *replica.Handle, known *replicated, b batch.View) {
	sum := crc32.ChecksumIEEE(b)
	at := b.BaseOffset()
	if other, ok := known.batches[at]; ok && other != sum && !c.world.forgives(r.TP) {
		c.world.fail("%s: the committed batch at offset %d of node %d is not the one that was there before", r.TP, at, p.host.id)
		return
	}
	known.batches[at] = sum
}

// forgives tells whether a partition lost every replica that had to have something.
func (w *World) forgives(tp model.TopicPartition) bool {
	l := w.load.ledgers[tp.String()]
	return l != nil && l.forgiven
}
