package partitionlog

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/codec/batch"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// due makes logs in one file system of which each asks for its recovery point to be moved to the end of its one batch.
func due(t *testing.T, fsys *vfs.CrashFS, n int) (logs []*Log, jobs []*Job) {
	t.Helper()
	env := testEnv(fsys)
	env.Dirty.limit = 0
	for i := range n {
		l := New(env, fmt.Sprintf("/data/t-%d", i), model.TopicPartition{Topic: "t", Partition: int32(i)}, testConfig(), testTopic)
		create := l.Create()
		created := create.Run()
		if l.Done(create, created); created != nil {
			t.Fatal(created)
		}
		v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: 1, Value: make([]byte, leastShare)}).Build()
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, l, StageOptions{LeaderEpoch: 1}, v)
		for _, j := range l.Background(1) {
			if !j.Groups() {
				t.Fatal("a log with much unsynced asks for something else than its recovery point")
			}
			logs, jobs = append(logs, l), append(jobs, j)
		}
	}
	return logs, jobs
}

func newCrashFS(t *testing.T) *vfs.CrashFS {
	t.Helper()
	fsys := vfs.NewCrashFS(1, clock.NewManual(time.Unix(1_700_000_000, 0)))
	if err := errors.Join(fsys.MkdirAll("/data", 0o755), fsys.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return fsys
}

func TestTheRecoveryPointsOfManyLogsMoveByFewSyncs(t *testing.T) {
	for title, c := range map[string]struct {
		logs        int
		unsupported bool
		syncs       func(counts map[vfs.Op]int, logs int) bool
	}{
		"many logs with their first leader epoch take two syncs of everything, and none of their own": {
			groupLeast, false, func(n map[vfs.Op]int, _ int) bool { return n[vfs.OpSyncAll] == 2 && n[vfs.OpSync] == 0 },
		},
		"few logs are synced by themselves": {
			groupLeast - 1, false, func(n map[vfs.Op]int, logs int) bool { return n[vfs.OpSyncAll] == 0 && n[vfs.OpSync] >= logs },
		},
		"where no file system is synced whole, neither are many logs": {
			groupLeast, true, func(n map[vfs.Op]int, logs int) bool { return n[vfs.OpSyncAll] == 1 && n[vfs.OpSync] >= logs },
		},
	} {
		t.Run(title, func(t *testing.T) {
			fsys := newCrashFS(t)
			logs, jobs := due(t, fsys, c.logs)
			counts := map[vfs.Op]int{}
			fsys.Hook(func(call vfs.Call) (f vfs.Fault) {
				counts[call.Op]++
				if c.unsupported && call.Op == vfs.OpSyncAll {
					f.Err = errors.ErrUnsupported
				}
				return f
			})
			for i, err := range RunGroup(fsys, "/data", jobs) {
				if err != nil {
					t.Fatal(err)
				}
				logs[i].Done(jobs[i], err)
				if got := logs[i].RecoveryPoint(); got != logs[i].LogEnd() {
					t.Errorf("log %d: recovery point %d, want %d", i, got, logs[i].LogEnd())
				}
			}
			if !c.syncs(counts, c.logs) {
				t.Errorf("%d syncs of all, %d of files", counts[vfs.OpSyncAll], counts[vfs.OpSync])
			}
		})
	}
}

func TestManyLogsAreClosedByFewSyncs(t *testing.T) {
	fsys := newCrashFS(t)
	logs, _ := due(t, fsys, groupLeast)
	var jobs []*Job
	for _, l := range logs {
		l.maintenance.underWay = false // as when the job that moves the recovery point was done in vain
		jobs = append(jobs, l.Close())
	}
	syncs := 0
	fsys.Hook(func(call vfs.Call) (f vfs.Fault) {
		if call.Op == vfs.OpSync || call.Op == vfs.OpSyncAll {
			syncs++
		}
		return f
	})
	for i, err := range RunGroup(fsys, "/data", jobs) {
		if !jobs[i].Groups() || err != nil {
			t.Fatalf("log %d: %v", i, err)
		}
		logs[i].Done(jobs[i], err)
	}
	if syncs > 2 {
		t.Errorf("%d syncs for %d logs", syncs, len(logs))
	}
}

func TestASyncOfAllThatFailsMovesNoRecoveryPoint(t *testing.T) {
	fsys := newCrashFS(t)
	logs, jobs := due(t, fsys, groupLeast)
	fsys.Hook(func(call vfs.Call) (f vfs.Fault) {
		if call.Op == vfs.OpSyncAll {
			f.Err = syscall.EIO
		}
		return f
	})
	for i, err := range RunGroup(fsys, "/data", jobs) {
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("log %d: %v, want EIO", i, err)
		}
		logs[i].Done(jobs[i], err)
		if logs[i].RecoveryPoint() != 0 || logs[i].Err() == nil {
			t.Errorf("log %d goes on with recovery point %d", i, logs[i].RecoveryPoint())
		}
	}
}

func TestWhereNoFileSystemIsSyncedWholeNothingPreparedIsLeft(t *testing.T) {
	fsys := newCrashFS(t)
	logs, jobs := due(t, fsys, groupLeast)
	fsys.Hook(func(call vfs.Call) (f vfs.Fault) {
		if call.Op == vfs.OpSyncAll {
			f.Err = errors.ErrUnsupported
		}
		return f
	})
	for _, j := range jobs {
		j.task.(*maintainTask).epochsDue = false // as in every group but a log's first
	}
	for i, err := range RunGroup(fsys, "/data", jobs) {
		if err != nil {
			t.Fatal(err)
		}
		names, err := fsys.ReadDir(logs[i].dir.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range names {
			if strings.HasSuffix(e.Name(), suffixPrepared) {
				t.Errorf("%s is left in %s", e.Name(), logs[i].dir.path)
			}
		}
	}
}
