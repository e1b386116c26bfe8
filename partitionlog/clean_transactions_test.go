package partitionlog

import (
	"fmt"
	"slices"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// inTransaction makes a transactional batch of one record.
func inTransaction(id model.ProducerID, seq model.Sequence, record string) batch.View {
	return keyed(1, batch.Options{Transactional: true, Producer: &batch.Producer{ID: id, Sequence: seq}}, record)
}

func ending(t *testing.T, id model.ProducerID, commit bool) batch.View {
	t.Helper()
	v, err := batch.NewControlBatch(batch.Options{Transactional: true, Producer: &batch.Producer{ID: id, Sequence: -1}}, 1,
		batch.EndTxnMarker{Commit: commit})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// batches lists what is in a log below an offset: "base-last" with c for a marker, and the number of records.
func batches(t *testing.T, l *Log, below model.Offset) (out []string) {
	t.Helper()
	readAllBatches(t, l.View(), l.LogStart(), below, 1<<20, func(v batch.View) {
		kind := ""
		if v.Control() {
			kind = "c"
		}
		out = append(out, fmt.Sprintf("%d-%d%s:%d", v.BaseOffset(), v.LastOffset(), kind, v.Count()))
	})
	return out
}

func appendTxn(t *testing.T, l *Log, all ...batch.View) {
	t.Helper()
	appendAll(t, l, StageOptions{Origin: FromCoordinator}, all...)
}

func TestAbortedRecordsGoAndTheirMarkerAfterThem(t *testing.T) {
	l, env, dir := newLogOnDisk(t, compacted())
	appendTxn(t, l,
		keyed(1, batch.Options{}, "a=1"),                                   // 0
		inTransaction(7, 0, "a=aborted"), inTransaction(7, 1, "b=aborted"), // 1, 2
		ending(t, 7, false),                                                        // 3
		inTransaction(7, 2, "b=1"), ending(t, 7, true), inTransaction(7, 3, "c=1"), // 4, 5, 6
		ending(t, 7, true)) // 7
	roll(t, l, 2)
	cleaned := clean(t, l, env, model.NoOffset, 10, mapBytes)
	if got, want := batches(t, l, 8), []string{"0-0:1", "3-3c:1", "4-4:1", "5-5c:1", "6-6:1", "7-7c:1"}; !slices.Equal(got, want) {
		t.Fatalf("left %v, want %v", got, want)
	}
	if aborted, err := l.View().Aborted(0, 8); err != nil || !slices.Equal(aborted, []AbortedTxn{{7, 1}}) {
		t.Errorf("aborted %v, %v: the marker is still there", aborted, err)
	}
	// No record of the aborted transaction is met any more: its marker gets its horizon, and no entry in the index, which
	// would make what the producer wrote later look aborted once the marker is gone.
	appendTxn(t, l, keyed(20, batch.Options{}, "b=2"))
	roll(t, l, 20)
	cleaned = clean(t, l, env, cleaned, 20, mapBytes)
	if aborted, err := l.View().Aborted(0, 8); err != nil || len(aborted) != 0 || len(globs(t, dir, "*.txnindex")) != 0 {
		t.Errorf("aborted %v, %v, files %v", aborted, err, globs(t, dir, "*.txnindex"))
	}
	if got, want := batches(t, l, 8), []string{"0-0:1", "3-3c:1", "5-5c:1", "6-6:1", "7-7c:1"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	appendTxn(t, l, keyed(30, batch.Options{}, "a=2"))
	roll(t, l, 1020)
	cleaned = clean(t, l, env, cleaned, 1020, mapBytes)
	// The abort marker's time is over; the commit at 5 lost its records in the round before and has a horizon now.
	if got, want := batches(t, l, 8), []string{"5-5c:1", "6-6:1", "7-7c:1"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	roll(t, l, 2020)
	clean(t, l, env, cleaned, 2020, mapBytes)
	if got, want := batches(t, l, 8), []string{"6-6:1", "7-7c:1"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}

func TestTheLastBatchOfALiveProducerStaysWithoutRecords(t *testing.T) {
	l, env, dir := newLogOnDisk(t, compacted())
	appendAll(t, l, StageOptions{},
		keyed(1, batch.Options{Producer: &batch.Producer{ID: 9, Sequence: 0}}, "a=1", "b=1"),
		keyed(1, batch.Options{Producer: &batch.Producer{ID: 9, Sequence: 2}}, "a=2", "b=2"),
		keyed(1, batch.Options{}, "a=3", "b=3"))
	roll(t, l, 2)
	clean(t, l, env, model.NoOffset, 10, mapBytes)
	if got, want := batches(t, l, 6), []string{"2-3:0", "4-5:2"}; !slices.Equal(got, want) {
		t.Fatalf("left %v, want %v", got, want)
	}
	finish(t, l)
	for _, s := range globs(t, dir, "*.snapshot") {
		if err := env.FS.Remove(s); err != nil {
			t.Fatal(err)
		}
	}
	// From the batches alone the producer's sequence is known.
	l, _, err := Open(env, dir, testPartition, compacted(), OpenParams{})
	if err != nil {
		t.Fatal(err)
	}
	if s, _, err := l.Stage(keyed(1, batch.Options{Producer: &batch.Producer{ID: 9, Sequence: 2}}, "a=2", "b=2"), StageOptions{}); err != nil || !s.Duplicate {
		t.Errorf("a repeated batch: %+v, %v", s, err)
	}
	if _, _, err := l.Stage(keyed(1, batch.Options{Producer: &batch.Producer{ID: 9, Sequence: 4}}, "a=9"), StageOptions{}); err != nil {
		t.Errorf("the next batch: %v", err)
	}
}

func TestOpenTransactionsAreNotCleaned(t *testing.T) {
	l, env, _ := newLogOnDisk(t, compacted())
	appendTxn(t, l, keyed(1, batch.Options{}, "a=1"), keyed(1, batch.Options{}, "a=2"))
	roll(t, l, 2)
	appendTxn(t, l, inTransaction(7, 0, "a=3"))
	roll(t, l, 3)
	roll(t, l, 4)
	cleaned := clean(t, l, env, model.NoOffset, 10, mapBytes)
	if cleaned != 2 {
		t.Errorf("cleaned up to %d, want 2: the transaction began at 3, in the segment at 2", cleaned)
	}
	if got := contents(t, l)[0]; got != "1:a=2" {
		t.Errorf("left %v", got)
	}
}

// What Kafka wrote in transactions is cleaned by the same rules: no aborted record is left, no committed one is lost.
func TestTransactionsThatKafkaWroteAreCleaned(t *testing.T) {
	for _, name := range []string{"transactional", "transactional-v1", "transactional-segments", "idempotent", "segments"} {
		t.Run(name, func(t *testing.T) {
			dir := goldenLogs(t)[name]
			env, cfg := testEnv(vfs.OS()), compacted()
			end := model.Offset(dumpOf(t, name)[len(dumpOf(t, name))-1].last + 1)
			l, _, err := Open(env, dir, model.TopicPartition{Topic: name}, cfg, OpenParams{Clean: true, HighWatermark: end})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range l.Producers() { // Kafka left one open
				if e.TxnFirstOffset >= 0 {
					v, err := batch.NewControlBatch(batch.Options{Transactional: true,
						Producer: &batch.Producer{ID: e.ProducerID, Epoch: e.Epoch, Sequence: -1}}, 1, batch.EndTxnMarker{})
					if err != nil {
						t.Fatal(err)
					}
					appendTxn(t, l, v)
				}
			}
			all := l.LogEnd()
			want := newestStable(t, l, all)
			roll(t, l, 1)
			cleaned := clean(t, l, env, model.NoOffset, 1, mapBytes)
			if cleaned != all || len(want) == 0 {
				t.Fatalf("clean up to %d of %d", cleaned, all)
			}
			for round := range 3 {
				got := newestStable(t, l, cleaned)
				if !slices.Equal(got, stableBelow(want, cleaned)) {
					t.Errorf("round %d: the stable records are %v, want %v", round, got, stableBelow(want, cleaned))
				}
				if all := recordsBelow(t, l, cleaned); !slices.Equal(all, got) {
					t.Errorf("round %d: left %v, of which %v are the newest of their keys", round, all, got)
				}
				roll(t, l, int64(2000*(round+1)))
				clean(t, l, env, cleaned, int64(2000*(round+1)), mapBytes)
			}
		})
	}
}

type stable struct {
	offset model.Offset
	key    string
}

// newestStable lists, as read_committed sees them, the newest records of their keys below an offset.
func newestStable(t *testing.T, l *Log, below model.Offset) (out []stable) {
	t.Helper()
	aborted, err := l.View().Aborted(0, below)
	if err != nil {
		t.Fatal(err)
	}
	open := map[model.ProducerID]bool{}
	newest := map[string]model.Offset{}
	readAllBatches(t, l.View(), 0, l.LogEnd(), 1<<20, func(v batch.View) {
		for _, a := range aborted {
			if a.FirstOffset >= v.BaseOffset() && a.FirstOffset <= v.LastOffset() {
				open[a.ProducerID] = true
			}
		}
		switch {
		case v.Control():
			delete(open, v.ProducerID())
		case v.Transactional() && open[v.ProducerID()]:
		default:
			_ = v.Each(func(r batch.Record) error {
				if r.Offset < below {
					newest[string(r.Key)] = r.Offset
				}
				return nil
			})
		}
	})
	for k, o := range newest {
		out = append(out, stable{o, k})
	}
	slices.SortFunc(out, func(a, b stable) int { return int(a.offset - b.offset) })
	return out
}

func stableBelow(all []stable, o model.Offset) (out []stable) {
	for _, s := range all {
		if s.offset < o {
			out = append(out, s)
		}
	}
	return out
}

func recordsBelow(t *testing.T, l *Log, below model.Offset) (out []stable) {
	t.Helper()
	readAllBatches(t, l.View(), 0, l.LogEnd(), 1<<20, func(v batch.View) {
		if v.Control() {
			return
		}
		_ = v.Each(func(r batch.Record) error {
			if r.Offset < below {
				out = append(out, stable{r.Offset, string(r.Key)})
			}
			return nil
		})
	})
	return out
}
