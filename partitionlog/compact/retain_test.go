package compact

import (
	"fmt"
	"math"
	"testing"

	"troupe/internal/model"
	"troupe/partitionlog/producer"
)

func TestWhichRecordsStay(t *testing.T) {
	offsets := NewOffsets(1<<16, 0.9, 100)
	m := NewMapper(offsets, 0)
	m.Record([]byte("a"), 5)
	m.Record([]byte("a"), 7)
	m.Record(nil, 8)
	offsets.Reach(10)
	const now = 1000
	for _, c := range []struct {
		title     string
		horizonMs int64
		key       string
		keyless   bool
		offset    model.Offset
		tombstone bool
		want      bool
	}{
		{"an older value", -1, "a", false, 5, false, false},
		{"the newest value", -1, "a", false, 7, false, true},
		{"a key that was not written lately", -1, "b", false, 1, false, true},
		{"a tombstone that is met for the first time", -1, "a", false, 7, true, true},
		{"an older tombstone", -1, "a", false, 5, true, false},
		{"a tombstone before its horizon", now + 1, "a", false, 7, true, true},
		{"a tombstone at its horizon", now, "a", false, 7, true, false},
		{"a value in a batch whose horizon is over", now, "a", false, 7, false, true},
		{"without a key", -1, "", true, 3, false, false},
		{"without a key, behind what is cleaned", -1, "", true, 10, false, true},
		{"behind what is cleaned", -1, "a", false, 10, false, true},
	} {
		r := NewRetainer(offsets, nil, Policy{DeleteRetentionMs: 100}, now)
		r.Batch(Batch{LastOffset: c.offset, ProducerID: -1, HorizonMs: c.horizonMs})
		key := []byte(c.key)
		if c.keyless {
			key = nil
		}
		if got := r.Record(key, c.offset, c.tombstone); got != c.want {
			t.Errorf("%s: %v", c.title, got)
		}
	}
}

func TestTheFirstCleaningThatMeetsATombstoneSetsItsHorizon(t *testing.T) {
	r := NewRetainer(NewOffsets(1<<10, 0.9, 10), nil, Policy{DeleteRetentionMs: 100}, 1000)
	r.Batch(Batch{LastOffset: 1, ProducerID: -1, HorizonMs: -1})
	if got := r.Horizon(true); got != 1100 {
		t.Errorf("a new tombstone gets %d, want 1100", got)
	}
	if got := r.Horizon(false); got != -1 {
		t.Errorf("a batch without a tombstone gets %d", got)
	}
	r.Batch(Batch{LastOffset: 2, ProducerID: -1, HorizonMs: 1050})
	if got := r.Horizon(true); got != -1 {
		t.Errorf("a batch that has one gets %d", got)
	}
	r = NewRetainer(NewOffsets(1<<10, 0.9, 10), nil, Policy{DeleteRetentionMs: math.MaxInt64}, 1000)
	r.Batch(Batch{LastOffset: 1, ProducerID: -1, HorizonMs: -1})
	if got := r.Horizon(true); got != math.MaxInt64 {
		t.Errorf("kept for ever: %d", got)
	}
}

func TestWhichBatchesStayWithoutRecords(t *testing.T) {
	offsets := NewOffsets(1<<10, 0.9, 10)
	offsets.Reach(50)
	producers := []producer.Entry{
		{ProducerID: 1, LastOffset: 20, Epoch: 0}, {ProducerID: 2, LastOffset: model.NoOffset, Epoch: 3},
	}
	r := NewRetainer(offsets, producers, Policy{}, 0)
	for _, c := range []struct {
		title string
		batch Batch
		want  bool
	}{
		{"the last of its producer", Batch{LastOffset: 20, ProducerID: 1}, true},
		{"an earlier one", Batch{LastOffset: 19, ProducerID: 1}, false},
		{"of a producer that was forgotten", Batch{LastOffset: 20, ProducerID: 9}, false},
		{"the last of the cleaning", Batch{LastOffset: 49, ProducerID: -1}, true},
		{"a marker, all there is of the epoch", Batch{LastOffset: 5, ProducerID: 2, ProducerEpoch: 3, Control: true, Marker: Commit}, true},
		{"a marker of an earlier epoch", Batch{LastOffset: 5, ProducerID: 2, ProducerEpoch: 2, Control: true, Marker: Commit}, false},
	} {
		c.batch.HorizonMs = -1
		if got := r.Batch(c.batch).KeepEmpty; got != c.want {
			t.Errorf("%s: %v", c.title, got)
		}
	}
}

func TestAFullMapEndsTheFirstPassBeforeTheRecord(t *testing.T) {
	offsets := NewOffsets(3*SlotBytes, 0.7, 100)
	m := NewMapper(offsets, 3)
	for o, key := range []string{3: "a", 4: "b", 5: "a", 6: "c"} {
		if key == "" {
			continue
		}
		if took := m.Record([]byte(key), model.Offset(o)); took != (o < 6) {
			t.Errorf("offset %d was taken: %v", o, took)
		}
	}
	if offsets.End() != 6 || offsets.Len() != 2 || offsets.Newest([]byte("a")) != 5 {
		t.Errorf("%d keys up to %d, a at %d", offsets.Len(), offsets.End(), offsets.Newest([]byte("a")))
	}
}

func TestTheMapHoldsWhatWasPut(t *testing.T) {
	for _, most := range []int64{1, 100, 5000} {
		m := NewOffsets(1<<30, 0.9, most)
		if bytes := len(m.slots) * SlotBytes; int64(bytes) > most*SlotBytes*10/9+4*SlotBytes {
			t.Errorf("%d bytes for %d keys", bytes, most)
		}
		for o := range most {
			if !m.Put(fmt.Append(nil, "key", o), model.Offset(o)) {
				t.Fatalf("no room for key %d of %d", o, most)
			}
		}
		for o := range most {
			if got := m.Newest(fmt.Append(nil, "key", o)); got != model.Offset(o) {
				t.Fatalf("key %d is at %d", o, got)
			}
		}
		if got := m.Newest([]byte("other")); got != model.NoOffset {
			t.Errorf("a key that was not put is at %d", got)
		}
	}
}
