package producer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"troupe/internal/model"
)

// history draws what a leader may have written: epochs that never fall, sequences without a gap, markers of either version.
func history(t *rapid.T) []entered {
	type client struct {
		epoch model.ProducerEpoch
		next  model.Sequence
		open  bool
	}
	clients := map[model.ProducerID]*client{}
	var log []entered
	end := model.Offset(0)
	for range rapid.IntRange(1, 60).Draw(t, "batches") {
		id := model.ProducerID(rapid.IntRange(1, 4).Draw(t, "producer"))
		c := clients[id]
		if c == nil {
			c = &client{}
			clients[id] = c
		}
		switch rapid.SampledFrom([]string{"data", "data", "data", "txn", "end", "end2", "bump"}).Draw(t, "what") {
		case "bump":
			if !c.open {
				c.epoch, c.next = c.epoch+1, 0
			}
			continue
		case "end2":
			c.epoch, c.next = c.epoch+1, 0
			fallthrough
		case "end":
			c.open = false
			m := Marker{id, c.epoch, 0, end, int64(end) + 5, rapid.Bool().Draw(t, "abort")}
			log = append(log, entered{at: end, marker: &m})
			end++
			continue
		case "txn":
			c.open = true
		}
		n := int32(rapid.IntRange(1, 3).Draw(t, "records"))
		b := Batch{id, c.epoch, c.next, end, n - 1, int64(end), c.open}
		log = append(log, entered{at: end, batch: b})
		c.next, end = c.next+model.Sequence(n), end+model.Offset(n)
	}
	return log
}

func (s *State) take(e entered) {
	if e.marker != nil {
		s.Complete(*e.marker)
		return
	}
	s.Append(e.batch)
}

func TestSnapshotRefillAndReplayGiveTheStateThatWasLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := history(t)
		cut := rapid.IntRange(0, len(log)).Draw(t, "snapshot before")
		var before, restored State
		for _, e := range log[:cut] {
			before.take(e)
		}
		entries, err := DecodeSnapshot(AppendSnapshot(nil, before.Entries()))
		if err != nil {
			t.Fatal(err)
		}
		restored.Restore(entries)
		older := slices.Clone(log[:cut])
		rand.Shuffle(len(older), func(i, j int) { older[i], older[j] = older[j], older[i] })
		for _, e := range older {
			if e.marker == nil {
				restored.Refill(e.batch)
			}
		}
		for _, e := range log[cut:] {
			before.take(e)
			restored.take(e)
		}
		// A snapshot does not have the transactions whose marker waits for the high watermark.
		before.HighWatermark(1 << 40)
		restored.HighWatermark(1 << 40)
		wantSame(t, &restored, &before)
	})
}

func wantSame(t *rapid.T, got, want *State) {
	if !slices.Equal(got.txns, want.txns) {
		t.Fatalf("transactions\n got %+v\nwant %+v", got.txns, want.txns)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(got.index)), slices.Sorted(maps.Keys(want.index))) {
		t.Fatalf("producers %v, want %v", got.index, want.index)
	}
	for id := range want.index {
		g, w := *got.known(id), *want.known(id)
		clear(g.window[g.count:])
		clear(w.window[w.count:])
		if g != w {
			t.Fatalf("producer %d\n got %+v\nwant %+v", id, g, w)
		}
	}
}

func TestACloneGoesItsOwnWay(t *testing.T) {
	var s State
	s.Append(Batch{ProducerID: 1, BaseOffset: 0, Transactional: true})
	c := s.Clone()
	c.Append(Batch{ProducerID: 1, BaseSequence: 1, BaseOffset: 1, Transactional: true})
	c.Append(Batch{ProducerID: 2, BaseOffset: 2})
	c.Complete(Marker{ProducerID: 1, Offset: 3})
	c.HighWatermark(4)
	if first, open := s.OpenTransaction(1); !open || first != 0 || s.Len() != 1 || s.Entries()[0].LastOffset != 0 {
		t.Errorf("the clone's changes show in the original: %+v", s.Entries())
	}
	if _, open := c.OpenTransaction(1); open || c.Len() != 2 || c.Entries()[0].LastOffset != 1 {
		t.Errorf("the clone has %+v", c.Entries())
	}
	if _, unstable := c.FirstUnstable(); unstable {
		t.Error("the clone's transaction is decided and replicated")
	}
}

func TestReadingOlderHeadersStopsWhenNoWindowCanGainByIt(t *testing.T) {
	var s State
	if !s.WindowsComplete() {
		t.Error("a state without producers waits for batches")
	}
	s.Restore([]Entry{
		{ProducerID: 1, LastSequence: 1, LastOffset: 50, OffsetDelta: 1, TxnFirstOffset: model.NoOffset},
		{ProducerID: 2, LastSequence: NoSequence, LastOffset: model.NoOffset, TxnFirstOffset: model.NoOffset},
		{ProducerID: 3, LastSequence: 9, LastOffset: 49, TxnFirstOffset: model.NoOffset},
	})
	for seq := model.Sequence(8); seq > 4; seq-- {
		if s.WindowsComplete() {
			t.Fatalf("complete before sequence %d of producer 3 is known", seq)
		}
		s.Refill(Batch{ProducerID: 3, BaseSequence: seq, BaseOffset: 40 + model.Offset(seq)})
	}
	if !s.WindowsComplete() {
		t.Error("one window begins at sequence 0, one epoch has no batch, one window is full: what is missing?")
	}
}

func TestAKnownProducersBatchCostsNoAllocation(t *testing.T) {
	var s State
	b := Batch{ProducerID: 1, LastOffsetDelta: 9}
	s.Append(b)
	allocs := testing.AllocsPerRun(100, func() {
		b.BaseSequence, b.BaseOffset = advance(b.BaseSequence, 10), b.BaseOffset+10
		if _, repeated, err := s.Check(b, Client); repeated || err != nil {
			t.Fatal(repeated, err)
		}
		s.Append(b)
		s.HighWatermark(b.BaseOffset)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
	// 10,000 producers in a partition are to stay within 2 MiB, and an idle partition's state within its 2 KiB.
	if size := unsafe.Sizeof(slot{}); size > 160 {
		t.Errorf("a producer takes %d bytes", size)
	}
	if size := unsafe.Sizeof(State{}); size > 80 {
		t.Errorf("an empty state takes %d bytes", size)
	}
}
