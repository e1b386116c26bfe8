package partitionlog

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"troupe/codec/batch"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// These logs come to a recovery point in the middle of a segment, or right before it ends.

func TestALogThatRollsWhereItsRecoveryPointWasToGoGetsThere(t *testing.T) {
	fsys := newCrashFS(t)
	cfg := testConfig()
	cfg.SegmentBytes = 400
	l := New(testEnv(fsys), "/data/t-0", testPartition, cfg, testTopic)
	appendAll(t, l, StageOptions{}, sized(300, -1))
	l.checkpointAt(l.next)
	appendAll(t, l, StageOptions{}, sized(300, -1)) // the first of the next segment
	j := l.maintain(1)
	errs, _ := runTogether(fsys, "/data", []*Job{j})
	if l.Done(j, errs[0]); l.Err() != nil || l.RecoveryPoint() != 1 {
		t.Errorf("the recovery point is %d: %v", l.RecoveryPoint(), l.Err())
	}
}

func TestTheGreatestTimestampIsFoundAlthoughTheSegmentEndedRightBehindARecoveryPoint(t *testing.T) {
	for title, c := range map[string]struct {
		kept, renamed bool
	}{
		"recovery": {false, true}, "kept": {true, true}, "kept, with a snapshot that was not synced": {true, false},
	} {
		t.Run(title, func(t *testing.T) {
			fsys := newCrashFS(t)
			cfg := testConfig()
			cfg.SegmentBytes, cfg.IndexIntervalBytes = 1000, 300
			l := New(testEnv(fsys), "/data/t-0", testPartition, cfg, testTopic)
			appendAll(t, l, StageOptions{}, at(10), at(20), at(30), at(90))
			l.checkpointAt(l.next)
			j := l.maintain(1)
			if c.renamed {
				errs, _ := runTogether(fsys, "/data", []*Job{j})
				l.Done(j, errs[0])
			} else {
				killedBeforeTheSync(t, j)
			}
			cfg.SegmentMs = 1
			l.SetConfig(cfg)
			appendAll(t, l, StageOptions{NowMs: 100}, at(100))
			cfg.SegmentMs = testConfig().SegmentMs
			l, report, err := Open(testEnv(fsys), "/data/t-0", testPartition, cfg, OpenParams{Kept: c.kept, TopicID: testTopic})
			if err != nil || report.Reason != nil || len(bases(l)) != 2 {
				t.Fatalf("segments %v, %+v, %v", bases(l), report, err)
			}
			l.SetHighWatermark(l.LogEnd())
			if got, ok, err := l.View().OffsetForTime(50, l.LogEnd()); got.Offset != 3 || !ok || err != nil {
				t.Errorf("time 50 is at %+v (%v), want offset 3: %v", got, ok, err)
			}
		})
	}
}

func TestALogThatWasKeptLearnsInTheBackgroundHowOldItsSegmentIs(t *testing.T) {
	fsys := newCrashFS(t)
	cfg := testConfig()
	cfg.IndexIntervalBytes, cfg.SegmentMs = 100, 1000
	l := New(testEnv(fsys), "/data/t-0", testPartition, cfg, testTopic)
	appendAll(t, l, StageOptions{}, at(10), at(20), at(30))
	l.checkpointAt(l.next)
	killedBeforeTheSync(t, l.maintain(1))
	for _, learns := range []bool{false, true} {
		l, _, err := Open(testEnv(fsys), "/data/t-0", testPartition, cfg, OpenParams{Kept: true, TopicID: testTopic})
		if err != nil {
			t.Fatal(err)
		}
		if learns {
			background(t, l, 2)
		}
		// 1010 is a millisecond too young for a roll, measured from 10.
		for _, b := range []struct {
			ms       int64
			segments int
		}{{1010, 1}, {1011, map[bool]int{false: 1, true: 2}[learns]}} {
			if _, _, err := l.Stage(at(b.ms), StageOptions{}); err != nil || l.Segments() != b.segments {
				t.Errorf("learns %v: with a batch of time %d there are %d segments, want %d; %v", learns, b.ms, l.Segments(), b.segments, err)
			}
		}
		l.Abandon()
	}
}

// abortedAt gives a log whose first transaction's marker is staged, and its job.
func abortedAt(t *testing.T, env *Env) (*Log, *Job) {
	l := New(env, "/data/t-0", testPartition, testConfig(), testTopic)
	p := &batch.Producer{ID: 7}
	v, err := batch.NewBuilder(batch.Options{Producer: p, Transactional: true}).Add(batch.Record{Timestamp: 1}).Build()
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, StageOptions{}, v)
	l.checkpointAt(l.next)
	p.Sequence = -1
	if v, err = batch.NewControlBatch(batch.Options{Producer: p, Transactional: true}, 2, batch.EndTxnMarker{}); err != nil {
		t.Fatal(err)
	}
	_, j, err := l.Stage(v, StageOptions{Origin: FromCoordinator})
	if err != nil {
		t.Fatal(err)
	}
	return l, j
}

func TestARecoveryPointThatMovesWhileAMarkerIsOnItsWayLeavesItsAbortToTheNext(t *testing.T) {
	fsys := newCrashFS(t)
	l, marker := abortedAt(t, testEnv(fsys))
	early := l.maintain(1)
	l.Done(early, early.Run())
	l.Done(marker, marker.Run())
	l.checkpointAt(l.next)
	background(t, l, 2)
	if l.Err() != nil || l.RecoveryPoint() != 2 {
		t.Fatalf("the recovery point is %d: %v", l.RecoveryPoint(), l.Err())
	}
	wantAborted(t, l)
	fsys.Crash()
	wantAborted(t, reopen(t, testEnv(fsys), OpenParams{RecoveryPoint: 2}))
}

func TestAnAbortThatAKilledProcessDidNotSyncIsSyncedWithTheNextRecoveryPoint(t *testing.T) {
	for seed := range uint64(20) { // a cut may take what was not synced, or leave it
		fsys := vfs.NewCrashFS(seed, clock.NewManual(time.Unix(1_700_000_000, 0)))
		if err := errors.Join(fsys.MkdirAll("/data", 0o755), fsys.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		abortUnsynced(t, fsys)
	}
}

func abortUnsynced(t *testing.T, fsys *vfs.CrashFS) {
	l, marker := abortedAt(t, testEnv(fsys))
	background(t, l, 1)
	l.Done(marker, marker.Run())
	l.checkpointAt(l.next)
	killedBeforeTheSync(t, l.maintain(1))
	l = reopen(t, testEnv(fsys), OpenParams{Kept: true})
	l.checkpointAt(l.next)
	background(t, l, 2)
	fsys.Crash()
	wantAborted(t, reopen(t, testEnv(fsys), OpenParams{RecoveryPoint: 2}))
}

// killedBeforeTheSync does what a group of logs does up to the sync that its snapshots wait for.
func killedBeforeTheSync(t *testing.T, j *Job) {
	t.Helper()
	task := j.task.(*maintainTask)
	if err := errors.Join(task.prepare(), task.placeEpochs(), task.prepareSnapshots()); err != nil {
		t.Fatal(err)
	}
}

func reopen(t *testing.T, env *Env, p OpenParams) *Log {
	t.Helper()
	p.TopicID = testTopic
	l, report, err := Open(env, "/data/t-0", testPartition, testConfig(), p)
	if err != nil || report.Reason != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	l.SetHighWatermark(l.LogEnd())
	return l
}

func wantAborted(t *testing.T, l *Log) {
	t.Helper()
	got, err := l.View().Aborted(0, model.Offset(2))
	if want := []AbortedTxn{{ProducerID: 7}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("aborted are %v, want %v: %v", got, want, err)
	}
}

// Kafka's broker knows nothing of prepared snapshots, and may have parted from what they tell of.
func TestASnapshotThatWaitsForItsSyncIsWorthNothingInALogThatKafkaLeftOpen(t *testing.T) {
	fsys := newCrashFS(t)
	l := New(testEnv(fsys), "/data/t-0", testPartition, testConfig(), testTopic)
	for i := range model.Sequence(5) {
		appendAll(t, l, StageOptions{}, sequenced(7, 0, i))
	}
	l.checkpointAt(l.next)
	killedBeforeTheSync(t, l.maintain(1))
	l.Abandon()
	// What a follower of Kafka does: it cuts its log, and goes on with another producer's batches.
	f := mustOpen(t, fsys, suffixLog)
	pos := 2 * int64(len(sequenced(7, 0, 0)))
	if err := f.Truncate(pos); err != nil {
		t.Fatal(err)
	}
	for i := range model.Sequence(4) {
		v := sequenced(8, 0, i)
		v.SetBaseOffset(model.Offset(2 + i))
		v.SetLeaderEpoch(1)
		n, err := f.WriteAt(v, pos)
		if pos += int64(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []suffix{suffixIndex, suffixTimeIndex} {
		if err := mustOpen(t, fsys, x).Truncate(4096 * offsetEntrySize * timeEntrySize); err != nil {
			t.Fatal(err)
		}
	}
	l = reopen(t, testEnv(fsys), OpenParams{Kept: true})
	var last []model.Sequence
	for _, e := range l.Producers() {
		last = append(last, e.LastSequence)
	}
	if want := []model.Sequence{1, 3}; !slices.Equal(last, want) {
		t.Errorf("the producers have come to %v, want %v", last, want)
	}
}

func mustOpen(t *testing.T, fsys vfs.FS, x suffix) vfs.File {
	t.Helper()
	f, err := fsys.Open("/data/t-0/"+fileID{suffix: x}.String(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
