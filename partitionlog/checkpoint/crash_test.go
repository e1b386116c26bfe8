package checkpoint

import (
	"errors"
	"maps"
	"syscall"
	"testing"
	"time"

	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

const seeds = 200

func emptyDisk(t *testing.T, seed uint64) *vfs.CrashFS {
	t.Helper()
	disk := vfs.NewCrashFS(seed, clock.NewManual(time.Unix(0, 0)))
	if err := disk.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := disk.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	return disk
}

// generation is a checkpoint that takes more than one sector, so that a write of it can be torn.
func generation(n int) map[model.TopicPartition]model.Offset {
	offsets := map[model.TopicPartition]model.Offset{}
	for p := range int32(200) {
		offsets[model.TopicPartition{Topic: "orders", Partition: p}] = model.Offset(1000*n) + model.Offset(p)
	}
	return offsets
}

// cuts runs write with the power cut at every call that it makes, in turn, and look after each cut: done tells whether
// write had returned in time. It ends with the first run that no cut reaches.
func cuts(t *testing.T, before, write func(vfs.FS) error, look func(fsys vfs.FS, done bool)) {
	t.Helper()
	for seed := range uint64(seeds) {
		for n := 1; ; n++ {
			disk := emptyDisk(t, seed)
			if err := before(disk); err != nil {
				t.Fatal(err)
			}
			disk.CutAfter(n)
			err := write(disk)
			disk.Crash()
			look(disk, err == nil)
			if err == nil {
				break
			}
			if !errors.Is(err, vfs.ErrPowerOff) {
				t.Fatal(err)
			}
			if n > 20 {
				t.Fatal("the write does not end")
			}
		}
	}
}

func TestAPowerCutLeavesTheOldCheckpointOrTheNew(t *testing.T) {
	name := "/data/" + HighWatermarks
	old, next := generation(1), generation(2)
	shorter := map[model.TopicPartition]model.Offset{{Topic: "orders"}: 3}
	sawOld, sawNew := 0, 0
	cuts(t,
		func(fsys vfs.FS) error { return WriteOffsets(fsys, name, old) },
		func(fsys vfs.FS) error { return WriteOffsets(fsys, name, next) },
		func(fsys vfs.FS, done bool) {
			got, err := ReadOffsets(fsys, name)
			switch {
			case err != nil:
				t.Fatalf("after the cut: %v", err)
			case maps.Equal(got, next):
				sawNew++
			case maps.Equal(got, old) && !done:
				sawOld++
			default:
				t.Fatalf("written %v, but read %v", done, got)
			}
			// What an interrupted write left behind does not stand in the way of the next, shorter one.
			if err := WriteOffsets(fsys, name, shorter); err != nil {
				t.Fatal(err)
			}
			if got, err := ReadOffsets(fsys, name); err != nil || !maps.Equal(got, shorter) {
				t.Fatalf("after another write: %v, %v", got, err)
			}
		})
	if sawOld == 0 || sawNew <= seeds {
		t.Errorf("the old one was seen %d times, the new one %d times: the cuts reached nothing", sawOld, sawNew)
	}
}

func TestAPowerCutLeavesTheFirstCheckpointOrNone(t *testing.T) {
	name := "/data/" + QuorumFile
	vote := QuorumState{Version: 1, LeaderID: model.NoBroker, LeaderEpoch: 7, VotedID: 3}
	cuts(t,
		func(vfs.FS) error { return nil },
		func(fsys vfs.FS) error { return WriteQuorumState(fsys, name, vote) },
		func(fsys vfs.FS, done bool) {
			got, ok, err := ReadQuorumState(fsys, name)
			if err != nil || done && !ok || ok && (got.LeaderEpoch != 7 || got.VotedID != 3) {
				t.Fatalf("written %v: %+v, %v, %v", done, got, ok, err)
			}
		})
}

func TestARemovedCleanShutdownMarkDoesNotComeBack(t *testing.T) {
	name := "/data/" + CleanShutdown
	cuts(t,
		func(fsys vfs.FS) error { return WriteCleanShutdown(fsys, name, 5) },
		func(fsys vfs.FS) error { return RemoveCleanShutdown(fsys, name) },
		func(fsys vfs.FS, done bool) {
			epoch, clean, err := ReadCleanShutdown(fsys, name)
			if err != nil || done && clean || clean && epoch != 5 {
				t.Fatalf("removed %v, but clean %v with epoch %d, %v", done, clean, epoch, err)
			}
		})
}

func TestAFailingDiskIsReportedAndTheOldCheckpointStays(t *testing.T) {
	name := "/data/" + RecoveryPoints
	old, next := generation(1), generation(2)
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir} {
		for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
			disk := emptyDisk(t, 1)
			if err := WriteOffsets(disk, name, old); err != nil {
				t.Fatal(err)
			}
			disk.Hook(func(c vfs.Call) vfs.Fault {
				if c.Op == op {
					return vfs.Fault{Err: errno, Bytes: 100}
				}
				return vfs.Fault{}
			})
			if err := WriteOffsets(disk, name, next); !errors.Is(err, errno) {
				t.Errorf("%s fails: error %v, want %v", op, err, errno)
			}
			disk.Hook(nil)
			got, err := ReadOffsets(disk, name)
			if err != nil || !maps.Equal(got, old) && !(op == vfs.OpSyncDir && maps.Equal(got, next)) {
				t.Errorf("after %s failed: %v, %v", op, got, err)
			}
		}
	}
}
