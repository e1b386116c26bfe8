package partitionlog

import (
	"errors"
	"slices"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// copied is a leader's batch of three records.
func copied(base model.Offset, epoch model.LeaderEpoch) batch.View {
	b := batch.NewBuilder(batch.Options{})
	for i := range 3 {
		b.Add(batch.Record{Timestamp: int64(base) + int64(i), Value: make([]byte, 50)})
	}
	v, err := b.Build()
	if err != nil {
		panic(err)
	}
	v.SetBaseOffset(base)
	v.SetLeaderEpoch(epoch)
	return v
}

// perform runs a job as its owner would.
func perform(t *testing.T, l *Log, j *Job) {
	t.Helper()
	if l.Done(j, j.Run()); l.Err() != nil {
		t.Fatal(l.Err())
	}
}

// DeleteRecords may leave a leader's log to begin in the midst of a batch, which is only ever fetched whole.
func TestAFollowerBeginsWithTheBatchThatHoldsItsLeadersStart(t *testing.T) {
	fsys := newCrashFS(t)
	l := New(testEnv(fsys), "/data/t-0", testPartition, testConfig(), testTopic)
	perform(t, l, l.Reset(7))
	fromLeader := StageOptions{Origin: FromLeader}
	if _, _, err := l.Stage(copied(6, 2), fromLeader); !errors.Is(err, ErrUnexpectedOffset) || l.StagedEnd() != l.LogStart() {
		t.Fatalf("a batch that begins at 6 in a log [%d, %d): %v", l.LogStart(), l.StagedEnd(), err)
	}
	perform(t, l, l.Reset(6))
	appendAll(t, l, fromLeader, copied(6, 2), copied(9, 2))
	if err := l.DeleteRecordsTo(7); err != nil {
		t.Fatal(err)
	}
	for _, start := range []model.Offset{7, 6} { // as the checkpoint has it, or had it before a crash
		if l.LogStart() != start || l.LogEnd() != 12 || l.LatestEpoch() != 2 {
			t.Errorf("the log is [%d, %d) of epoch %d, want [%d, 12) of 2", l.LogStart(), l.LogEnd(), l.LatestEpoch(), start)
		}
		var found []model.Offset
		readAllBatches(t, l.View(), start, 12, 1000, func(v batch.View) { found = append(found, v.BaseOffset()) })
		if !slices.Equal(found, []model.Offset{6, 9}) {
			t.Errorf("from %d on there are batches at %v", start, found)
		}
		l.Abandon()
		l = reopen(t, testEnv(fsys), OpenParams{Kept: true})
	}
	l.Abandon()
}

// A follower asks its leader with the last epoch that it has; one that is not in its log any more would be judged as such.
func TestALogThatBeganAnewKnowsNoEpochWheneverTheProcessWasKilled(t *testing.T) {
	ended := false
	for kill := 1; !ended; kill++ {
		fsys := newCrashFS(t)
		cfg := testConfig()
		cfg.SegmentBytes = 400
		l := New(testEnv(fsys), "/data/t-0", testPartition, cfg, testTopic)
		fromLeader := StageOptions{Origin: FromLeader}
		appendAll(t, l, fromLeader, copied(0, 1), copied(3, 1), copied(6, 4))
		background(t, l, 1)
		left := kill
		fsys.Hook(func(vfs.Call) (f vfs.Fault) {
			if left--; left <= 0 {
				f.Err = vfs.ErrPowerOff
			}
			return f
		})
		j := l.Reset(93)
		err := j.Run()
		l.Done(j, err)
		fsys.Hook(nil)
		if ended = err == nil; !ended {
			l.Abandon()
			if l, _, err = Open(testEnv(fsys), "/data/t-0", testPartition, cfg, OpenParams{Kept: true, TopicID: testTopic}); err != nil {
				t.Fatalf("kill %d: %v", kill, err)
			}
		}
		empty := l.LogStart() == l.LogEnd()
		if epoch := l.LatestEpoch(); empty != (epoch == model.NoLeaderEpoch) {
			t.Errorf("kill %d: the log is [%d, %d), and its last epoch %d", kill, l.LogStart(), l.LogEnd(), epoch)
		}
		if ended && l.LogEnd() != 93 {
			t.Errorf("the log ends at %d", l.LogEnd())
		}
		l.Abandon()
	}
}

// The leader's log is shorter than what was deleted here: the follower goes on from the leader's end, wherever that is.
func TestATruncationBelowTheLogStartLeavesALogThatBeginsThere(t *testing.T) {
	for _, to := range []model.Offset{4, 1} { // in the first segment, and before it
		fsys := newCrashFS(t)
		cfg := testConfig()
		cfg.SegmentBytes = 400
		l := New(testEnv(fsys), "/data/t-0", testPartition, cfg, testTopic)
		fromLeader := StageOptions{Origin: FromLeader}
		appendAll(t, l, fromLeader, copied(3, 1), copied(6, 1), copied(9, 1))
		if err := l.DeleteRecordsTo(7); err != nil {
			t.Fatal(err)
		}
		perform(t, l, l.TruncateTo(to))
		if l.LogStart() != to || l.LogEnd() != to || l.HighWatermark() != to {
			t.Errorf("cut to %d the log is [%d, %d), committed up to %d", to, l.LogStart(), l.LogEnd(), l.HighWatermark())
		}
		appendAll(t, l, fromLeader, copied(to, 2))
		expectBatch(t, l, to, int64(len(copied(to, 2))))
		l.Abandon()
	}
}

// The new leader was behind when the epoch changed, and goes on under an epoch that is older than what is cut off here.
func TestATruncationIntoABatchTakesItWholeWithItsEpochs(t *testing.T) {
	fsys := newCrashFS(t)
	cfg := testConfig()
	cfg.SegmentBytes = 400
	l := New(testEnv(fsys), "/data/t-0", testPartition, cfg, testTopic)
	fromLeader := StageOptions{Origin: FromLeader}
	appendAll(t, l, fromLeader, copied(0, 1), copied(3, 1), copied(6, 4), copied(9, 4))
	background(t, l, 1)
	if l.RecoveryPoint() <= 4 {
		t.Fatalf("the recovery point is %d: nothing is to be taken back", l.RecoveryPoint())
	}
	perform(t, l, l.TruncateTo(4))
	if l.LogEnd() != 3 || l.HighWatermark() != 3 || l.RecoveryPoint() > 3 || l.Flushed() > 3 {
		t.Fatalf("the log ends at %d, committed up to %d, recovered up to %d, synced up to %d, want 3",
			l.LogEnd(), l.HighWatermark(), l.RecoveryPoint(), l.Flushed())
	}
	appendAll(t, l, fromLeader, copied(3, 2), copied(6, 5))
	flush := l.Flush()
	perform(t, l, flush)
	fsys.Crash()
	l, report, err := Open(testEnv(fsys), "/data/t-0", testPartition, cfg, OpenParams{RecoveryPoint: 3, TopicID: testTopic})
	if err != nil || report.Reason != nil || l.LogEnd() != 9 {
		t.Fatalf("the log ends at %d: %+v, %v", l.LogEnd(), report, err)
	}
	for asked, want := range map[model.LeaderEpoch][2]int64{1: {1, 3}, 2: {2, 6}, 4: {2, 6}, 5: {5, 9}, 6: {-1, -1}} {
		if epoch, end := l.EpochEnd(asked); int64(epoch) != want[0] || int64(end) != want[1] {
			t.Errorf("epoch %d ends at (%d, %d), want %v", asked, epoch, end, want)
		}
	}
	l.Abandon()
}
