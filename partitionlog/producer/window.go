package producer

import "troupe/internal/model"

// WindowSize is the number of batches by which a repetition is known. Clients keep at most five requests in flight
// (KIP-98), so an answer that got lost belongs to one of the last five.
const WindowSize = 5

// slot is one producer. It holds no pointer, so the garbage collector does not look into the slots of an idle partition.
type slot struct {
	id               model.ProducerID
	lastTimestampMs  int64        // of the last batch or marker
	txnFirst         model.Offset // of the open transaction, else NoOffset
	window           [WindowSize]remembered
	coordinatorEpoch model.CoordinatorEpoch
	epoch            model.ProducerEpoch
	count            uint8 // of window, which is filled from the front: the oldest stands first
}

// remembered is one batch of the window.
type remembered struct {
	lastOffset   model.Offset
	timestampMs  int64
	lastSequence model.Sequence
	offsetDelta  int32
}

// What a producer has of which nothing is known; Kafka's files and replies say -1 too.
const (
	noEpoch            model.ProducerEpoch    = -1
	noCoordinatorEpoch model.CoordinatorEpoch = -1
)

func emptySlot(id model.ProducerID) slot {
	return slot{id: id, epoch: noEpoch, coordinatorEpoch: noCoordinatorEpoch, txnFirst: model.NoOffset, lastTimestampMs: -1}
}

func (r remembered) baseSequence() model.Sequence { return advance(r.lastSequence, -r.offsetDelta) }

func rememberedOf(b Batch) remembered {
	return remembered{
		lastOffset: b.LastOffset(), timestampMs: b.MaxTimestampMs,
		lastSequence: b.LastSequence(), offsetDelta: b.LastOffsetDelta,
	}
}

// lastSequence is that of the newest batch, NoSequence in an empty window.
func (p *slot) lastSequence() model.Sequence {
	if p.count == 0 {
		return NoSequence
	}
	return p.window[p.count-1].lastSequence
}

// enterEpoch forgets the batches of another epoch: their sequences are of another count.
func (p *slot) enterEpoch(e model.ProducerEpoch) {
	if p.epoch != e {
		p.epoch = e
		p.count = 0
	}
}

// push moves the window on. Copying 96 bytes costs less than the arithmetic of a ring at every look-up.
func (p *slot) push(r remembered) {
	if p.count == WindowSize {
		copy(p.window[:], p.window[1:])
		p.count--
	}
	p.window[p.count] = r
	p.count++
}

// find looks for the batch with exactly these first and last sequences.
func (p *slot) find(first, last model.Sequence) (remembered, bool) {
	for _, r := range p.window[:p.count] {
		if r.lastSequence == last && r.baseSequence() == first {
			return r, true
		}
	}
	return remembered{}, false
}

// insertOlder puts a batch where its offset belongs; what is older than a full window or newer than its newest is left
// out. One that is there already is put right: a snapshot has the time of the last marker in place of the batch's.
func (p *slot) insertOlder(r remembered) {
	held := p.window[:p.count]
	at := 0
	for at < len(held) && held[at].lastOffset < r.lastOffset {
		at++
	}
	switch {
	case at == len(held):
	case held[at].lastOffset == r.lastOffset:
		held[at] = r
	case p.count < WindowSize:
		copy(p.window[at+1:], held[at:])
		p.window[at] = r
		p.count++
	case at > 0:
		copy(p.window[:at-1], p.window[1:at])
		p.window[at-1] = r
	}
}

// complete tells that no older batch of this epoch can be missing from the window.
func (p *slot) complete() bool {
	return p.count == 0 || p.count == WindowSize || p.window[0].baseSequence() == 0
}
