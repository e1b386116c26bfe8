package partitionlog

import (
	"errors"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// timed makes a batch of records with these times.
func timed(t *testing.T, o batch.Options, ms ...int64) batch.View {
	t.Helper()
	b := batch.NewBuilder(o)
	for _, at := range ms {
		b.Add(batch.Record{Timestamp: at, Value: make([]byte, 100)})
	}
	v, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheTimeAtAnOffsetIsThatOfItsBatch(t *testing.T) {
	cfg := testConfig()
	cfg.SegmentBytes = 4 << 10 // some twenty batches
	l, _, _ := newLogOnDisk(t, cfg)
	// Batch i has the offsets 2i and 2i+1, the times 1000i and 1000i+999.
	const batches = 500
	for i := range int64(batches) {
		appendAll(t, l, StageOptions{}, timed(t, batch.Options{}, 1000*i, 1000*i+999))
	}
	v := l.View()
	if v.Segments() < 3 {
		t.Fatalf("%d segments, the test wants several", v.Segments())
	}
	const end = model.Offset(2 * batches)
	for o := range end {
		if ms, ok, err := v.TimeAt(o, end); ms != int64(o/2)*1000 || !ok || err != nil {
			t.Fatalf("offset %d has the time %d, %v, %v", o, ms, ok, err)
		}
		ms, ok, known := v.TimeAtOnce(o, end)
		if known && (ms != int64(o/2)*1000 || !ok) {
			t.Fatalf("offset %d has at once the time %d, %v", o, ms, ok)
		}
		if o >= end-20 && !known {
			t.Fatalf("offset %d, near the end, is not known at once", o)
		}
	}
	for _, none := range []struct{ o, limit model.Offset }{{end, end}, {end - 2, end - 2}, {end + 5, end + 9}} {
		if _, ok, err := v.TimeAt(none.o, none.limit); ok || err != nil {
			t.Errorf("from %d to %d there is a time, %v", none.o, none.limit, err)
		}
		if _, ok, known := v.TimeAtOnce(none.o, none.limit); ok || !known {
			t.Errorf("from %d to %d there is a time at once", none.o, none.limit)
		}
	}
}

func TestTheTimeBeforeTheStartIsThatOfTheStart(t *testing.T) {
	l, _, _ := newLogOnDisk(t, testConfig())
	for i := range int64(10) {
		appendAll(t, l, StageOptions{}, timed(t, batch.Options{}, 1000*i))
	}
	if err := l.DeleteRecordsTo(6); err != nil {
		t.Fatal(err)
	}
	if ms, ok, err := l.View().TimeAt(2, 10); ms != 6000 || !ok || err != nil {
		t.Errorf("the time is %d, %v, %v; want that of offset 6", ms, ok, err)
	}
}

func TestABatchWithoutTimesHasNone(t *testing.T) {
	l, _, _ := newLogOnDisk(t, testConfig())
	appendAll(t, l, StageOptions{}, timed(t, batch.Options{}, batch.NoTimestamp))
	if ms, ok, err := l.View().TimeAt(0, 1); ok || err != nil {
		t.Errorf("it has the time %d, %v", ms, err)
	}
	if ms, ok, known := l.View().TimeAtOnce(0, 1); ok || !known {
		t.Errorf("it has at once the time %d, known %v", ms, known)
	}
}

func TestTheTimeOfTheLogIsTheGreatestOfTheBatch(t *testing.T) {
	v := timed(t, batch.Options{}, 1000, 2000)
	v.SetLogAppendTime(5000)
	if got := timeOf(v); got != 5000 {
		t.Errorf("the time is %d, want 5000", got)
	}
}

func TestTheTimeOfWhatWasCutAwayIsStale(t *testing.T) {
	l, _, _ := newLogOnDisk(t, testConfig())
	appendAll(t, l, StageOptions{}, at(1000), at(2000))
	old := l.View()
	if j := l.TruncateTo(0); j != nil {
		err := j.Run()
		if l.Done(j, err); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := old.TimeAt(1, 2); ok || !errors.Is(err, ErrStale) {
		t.Errorf("it has a time, %v", err)
	}
}
