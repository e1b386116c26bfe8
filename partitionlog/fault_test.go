package partitionlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// stageAll stages n batches of a hundred-odd bytes and gives their jobs.
func stageAll(t *testing.T, l *Log, n int) []*Job {
	t.Helper()
	var jobs []*Job
	for range n {
		_, j, err := l.Stage(sized(200, -1), StageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

func doneAll(l *Log, jobs []*Job, errs []error) {
	for i, j := range jobs {
		l.Done(j, errs[i])
	}
}

func TestAWriteThatFailsPoisonsTheLogAndLosesNothingWrittenBefore(t *testing.T) {
	for _, fault := range []struct {
		name    string
		err     error
		written int64 // of the failing write of five batches
		whole   int   // batches that are in the file
	}{
		{"a full disk takes nothing", syscall.ENOSPC, 0, 0},
		{"a full disk takes part of the first batch", syscall.ENOSPC, 150, 0},
		{"a full disk takes two batches and a part", syscall.ENOSPC, 450, 2},
		{"the disk fails", syscall.EIO, 0, 0},
		{"the disk fails within the last batch", syscall.EIO, 999, 4},
	} {
		t.Run(fault.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.cfg.SegmentBytes = 1 << 20
			w.log.SetConfig(w.cfg)
			first := stageAll(t, w.log, 10)
			doneAll(w.log, first, RunAppends(first))

			w.fs.Hook(func(c vfs.Call) vfs.Fault {
				if c.Op == vfs.OpWrite && strings.HasSuffix(c.Name, ".log") {
					return vfs.Fault{Err: fault.err, Bytes: fault.written}
				}
				return vfs.Fault{}
			})
			failing, behind := stageAll(t, w.log, 5), stageAll(t, w.log, 3)
			errs := RunAppends(failing)
			w.fs.Hook(nil)
			behindErrs := RunAppends(behind) // the disk has room again, but there is a hole

			for i, err := range errs {
				if (err == nil) != (i < fault.whole) || err != nil && !errors.Is(err, fault.err) {
					t.Errorf("batch %d: %v", i, err)
				}
			}
			for _, err := range behindErrs {
				if !errors.Is(err, fault.err) {
					t.Errorf("behind the hole: %v", err)
				}
			}
			doneAll(w.log, failing, errs)
			doneAll(w.log, behind, behindErrs)
			if _, _, err := w.log.Stage(sized(200, -1), StageOptions{}); !errors.Is(err, ErrPoisoned) || !errors.Is(err, fault.err) {
				t.Errorf("a batch for a poisoned log: %v", err)
			}
			if jobs := w.log.Background(1); jobs != nil {
				t.Errorf("a poisoned log asks for %d jobs", len(jobs))
			}
			want := model.Offset(10 + fault.whole)
			if w.log.LogEnd() != want {
				t.Errorf("log end %d, want %d", w.log.LogEnd(), want)
			}

			w.log.Abandon()
			l, report, err := Open(w.env, worldDir, testPartition, w.cfg, OpenParams{TopicID: testTopic})
			if err != nil || l.LogEnd() != want {
				t.Fatalf("opened again it ends at %d, want %d: %+v, %v", l.LogEnd(), want, report, err)
			}
			jobs := stageAll(t, l, 1)
			errs = RunAppends(jobs)
			doneAll(l, jobs, errs)
			if errs[0] != nil || l.LogEnd() != want+1 {
				t.Errorf("the next append: %v, log end %d", errs[0], l.LogEnd())
			}
		})
	}
}

func TestAFailedSyncPoisonsTheLogWhateverItSays(t *testing.T) {
	for _, e := range []error{syscall.EIO, syscall.ENOSPC} {
		for _, file := range []string{".log", ".index"} {
			t.Run(fmt.Sprint(e, " of ", file), func(t *testing.T) {
				w := newWorld(t, 1)
				jobs := stageAll(t, w.log, 300)
				doneAll(w.log, jobs, RunAppends(jobs))
				w.fs.Hook(func(c vfs.Call) vfs.Fault {
					if c.Op == vfs.OpSync && strings.HasSuffix(c.Name, file) {
						return vfs.Fault{Err: e}
					}
					return vfs.Fault{}
				})
				for _, j := range w.log.Background(1) {
					w.log.Done(j, j.Run())
				}
				if err := w.log.Err(); !errors.Is(err, ErrPoisoned) || !errors.Is(err, e) {
					t.Fatalf("the log's error: %v", err)
				}
			})
		}
	}
}

func TestAFullDiskStopsBackgroundWorkForASecondAndLosesNothing(t *testing.T) {
	w := newWorld(t, 1)
	jobs := stageAll(t, w.log, 300)
	doneAll(w.log, jobs, RunAppends(jobs))
	w.fs.Fill(0)
	refused := 0
	for _, j := range w.log.Background(1000) {
		err := j.Run()
		w.log.Done(j, err)
		if errors.Is(err, syscall.ENOSPC) {
			refused++
		} else if err != nil || j.Kind == KindFsync { // what needs no room may be done
			t.Fatalf("a job on a full disk: %v", err)
		}
	}
	w.fs.Fill(-1)
	if refused == 0 {
		t.Fatal("nothing needed room")
	}
	if w.log.Err() != nil || w.log.Background(1100) != nil || w.log.Background(2099) != nil {
		t.Fatalf("the log does not wait: %v", w.log.Err())
	}
	for _, j := range w.log.Background(2100) {
		w.log.Done(j, j.Run())
	}
	if w.log.Err() != nil || w.log.RecoveryPoint() == 0 {
		t.Fatalf("recovery point %d, %v", w.log.RecoveryPoint(), w.log.Err())
	}
}

func TestReadersRunOutOfDescriptorsBeforeAppendsDo(t *testing.T) {
	w := newWorld(t, 1)
	d := vfs.NewDescriptors(0) // the least there is
	_, limit := d.Used(vfs.ShareFiles)
	env := NewEnv(w.fs, d)
	logs := make([]*Log, 2*limit)
	for i := range logs {
		logs[i] = New(env, fmt.Sprint("/data/u-", i), testPartition, w.cfg, testTopic)
		jobs := stageAll(t, logs[i], 1)
		errs := RunAppends(jobs)
		w.check(errs[0])
		doneAll(logs[i], jobs, errs)
		if env.Files.Open() > limit {
			t.Fatalf("%d files are open, %d are allowed", env.Files.Open(), limit)
		}
	}
	var held []Region
	for _, l := range logs {
		r, err := l.View().Read(0, 1, 1000, true)
		if errors.Is(err, vfs.ErrNoDescriptor) {
			break
		}
		w.check(err)
		held = append(held, r)
	}
	if len(held) == 0 || len(held) >= limit {
		t.Fatalf("readers pinned %d of %d files", len(held), limit)
	}
	jobs := stageAll(t, logs[len(logs)-1], 1)
	w.check(RunAppends(jobs)[0])
	for _, r := range held {
		r.Release()
	}
	r, err := logs[len(logs)-1].View().Read(0, 1, 1000, true)
	w.check(err)
	r.Release()
}

func TestAnOpeningThatFailsWhileItRemovesLeavesTheMarkOfTheRemoval(t *testing.T) {
	fsys := newCrashFS(t)
	env := testEnv(fsys)
	l := New(env, worldDir, testPartition, testConfig(), testTopic)
	create := l.Create()
	if err := create.Run(); err != nil {
		t.Fatal(err)
	}
	l.Done(create, nil)
	for seq := range model.Sequence(4) {
		appendAll(t, l, StageOptions{}, sequenced(1, 0, seq))
	}
	finish(t, l) // with a snapshot at 4
	f, err := fsys.Open(filepath.Join(worldDir, fileID{suffix: suffixLog}.String()), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(int64(len(sequenced(1, 0, 0)))), f.Close()); err != nil {
		t.Fatal(err)
	}
	refuse := true
	fsys.Hook(func(c vfs.Call) (f vfs.Fault) {
		if refuse && c.Op == vfs.OpRemove && strings.HasSuffix(c.Name, string(suffixSnapshot)) {
			f.Err = syscall.EIO
		}
		return f
	})
	mark := filepath.Join(worldDir, removalMark)
	for _, fails := range []bool{true, false} {
		refuse = fails
		l, _, err := Open(testEnv(fsys), worldDir, testPartition, testConfig(), OpenParams{TopicID: testTopic})
		if (err != nil) != fails {
			t.Fatalf("the snapshot cannot be removed: %v, the opening gives %v", fails, err)
		}
		if _, err := fsys.Stat(mark); (err == nil) != fails {
			t.Errorf("the snapshot cannot be removed: %v, the mark: %v", fails, err)
		}
		if err == nil {
			l.Abandon()
		}
	}
}
