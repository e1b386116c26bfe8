package partitionlog

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// wantIdentity expects a partition.metadata of the topic.
func wantIdentity(t *testing.T, fsys vfs.FS, when string) {
	t.Helper()
	if id, err := checkpoint.ReadTopicID(fsys, "/data/t-0/"+checkpoint.PartitionMetadata); err != nil || id != testTopic {
		t.Errorf("%s the directory is of topic %s, %v", when, id, err)
	}
}

// The job that makes the directory durable may wait for its turn long after the first batches were written and synced.
func TestWhereABatchIsItIsKnownOfWhichTopic(t *testing.T) {
	for seed := range uint64(20) { // a cut may take what was not synced, or leave it
		fsys := vfs.NewCrashFS(seed, clock.NewManual(time.Unix(1_700_000_000, 0)))
		if err := errors.Join(fsys.MkdirAll("/data", 0o755), fsys.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		l := New(testEnv(fsys), "/data/t-0", testPartition, testConfig(), testTopic)
		create := l.Create()
		appendAll(t, l, StageOptions{}, at(1))
		wantIdentity(t, fsys, "after an append")
		flush := l.Flush()
		if l.Done(flush, flush.Run()); l.Flushed() != 1 {
			t.Fatalf("flushed to %d: %v", l.Flushed(), l.Err())
		}
		if seed%2 == 0 { // it finds all done
			l.Done(create, create.Run())
		}
		fsys.Crash()
		wantIdentity(t, fsys, "after a flush and a power cut")
		if l = reopen(t, testEnv(fsys), OpenParams{RecoveryPoint: 1}); l.LogEnd() != 1 {
			t.Errorf("the log ends at %d", l.LogEnd())
		}
	}
}

func TestADirectoryWithoutBatchesIsDurableOnceItWasCreated(t *testing.T) {
	fsys := newCrashFS(t)
	if err := fsys.SyncDir("/data"); err != nil {
		t.Fatal(err)
	}
	l := New(testEnv(fsys), "/data/t-0", testPartition, testConfig(), testTopic)
	create := l.Create()
	if l.Done(create, create.Run()); l.Create() != nil {
		t.Error("it is to be created again")
	}
	if err := fsys.SyncDir("/data"); err != nil { // the name of the directory itself may be lost: nothing is in it
		t.Fatal(err)
	}
	fsys.Crash()
	wantIdentity(t, fsys, "after a power cut")
}

func TestTheDirectoriesOfManyNewLogsAreMadeDurableByOneSync(t *testing.T) {
	for title, c := range map[string]struct {
		logs  int
		fault error // of the sync of all
		syncs int   // of everything
		works bool
	}{
		"few by themselves": {groupLeast - 1, nil, 0, true},
		"many together":     {groupLeast, nil, 1, true},
		"by themselves where there is no such sync":   {groupLeast, errors.ErrUnsupported, 1, true},
		"after a sync that fails none counts as made": {groupLeast, syscall.EIO, 1, false},
	} {
		t.Run(title, func(t *testing.T) {
			fsys := newCrashFS(t)
			all, single := 0, 0
			fsys.Hook(func(call vfs.Call) (f vfs.Fault) {
				switch call.Op {
				case vfs.OpSyncAll:
					all++
					f.Err = c.fault
				case vfs.OpSync:
					single++
				}
				return f
			})
			var logs []*Log
			var jobs []*Job
			for i := range c.logs {
				l := New(testEnv(fsys), fmt.Sprintf("/data/t-%d", i), model.TopicPartition{Topic: "t", Partition: int32(i)}, testConfig(), testTopic)
				logs, jobs = append(logs, l), append(jobs, l.Create())
			}
			for i, err := range RunGroup(fsys, "/data", jobs) {
				if logs[i].Done(jobs[i], err); (err == nil) != c.works || (logs[i].creation == creationDone) != c.works {
					t.Fatalf("log %d: %v, creation %d", i, err, logs[i].creation)
				}
			}
			if all != c.syncs || c.syncs == 1 && c.fault == nil && single > 0 {
				t.Errorf("%d syncs of all, %d of files", all, single)
			}
			if fsys.Crash(); c.works {
				wantIdentity(t, fsys, "after a power cut")
			}
		})
	}
}
