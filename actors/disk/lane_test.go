package disk

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/codec/batch"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// bench is a directory with its lanes, and an actor that owns logs.
type bench struct {
	t      *testing.T
	order  *kit.Deterministic
	system *kit.System
	fs     *vfs.CrashFS
	dir    *Dir
	owner  kit.Ref
	fenced int
	events []string
	logs   map[string]*partitionlog.Log
}

// Receive notes what the lanes answer.
func (b *bench) Receive(_ *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Finished:
		for _, err := range m.Errs {
			b.note("finished: %v", err)
		}
	case *Fenced:
		b.fenced++
	}
}

func (b *bench) note(format string, args ...any) {
	b.events = append(b.events, fmt.Sprintf(format, args...))
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := clock.NewManual(time.Unix(1_700_000_000, 0))
	b := &bench{t: t, order: kit.NewDeterministic(1), fs: vfs.NewCrashFS(1, c), logs: map[string]*partitionlog.Log{}}
	if err := b.fs.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	b.system = kit.NewSystem(kit.Options{Clock: c, Dispatcher: b.order})
	b.owner = b.system.Spawn("owner", kit.Props{Kind: "test", New: func() kit.Behavior { return b }})
	b.dir = Open(b.system, partitionlog.NewEnv(b.fs, vfs.NewDescriptors(1000)), "/data", model.DirectoryID{1}, Lanes{}, b.owner)
	b.run()
	b.fs.Hook(func(c vfs.Call) vfs.Fault {
		if c.Op == vfs.OpWrite || c.Op == vfs.OpSync {
			b.note("%s %s", c.Op, filepath.Base(filepath.Dir(c.Name)))
		}
		return vfs.Fault{}
	})
	return b
}

func (b *bench) run() { b.order.Run(10_000) }

// stage gives an append job of one record for a log.
func (b *bench) stage(topic string) *partitionlog.Job {
	b.t.Helper()
	log := b.logs[topic]
	if log == nil {
		tp := model.TopicPartition{Topic: topic}
		cfg := partitionlog.Config{SegmentBytes: 1 << 20, SegmentMs: math.MaxInt64, IndexBytes: 1 << 20, IndexIntervalBytes: 4096}
		log = partitionlog.New(b.dir.Env, "/data/"+tp.String(), tp, cfg, model.TopicID{})
		b.logs[topic] = log
	}
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Value: []byte("v")}).Build()
	if err != nil {
		b.t.Fatal(err)
	}
	_, job, err := log.Stage(v, partitionlog.StageOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return job
}

func (b *bench) lane() kit.Ref { return b.dir.AppendLane(model.TopicPartition{}) }

func (b *bench) appends(jobs ...*partitionlog.Job) {
	b.lane().Send(&Appends{Jobs: jobs, Owner: b.owner})
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if got := strings.Join(b.events, "; "); got != strings.Join(want, "; ") {
		b.t.Fatalf("happened: %s\nwant: %s", got, strings.Join(want, "; "))
	}
	b.events = nil
}

func TestWhatWaitsInTheMailboxIsOneWriteAFile(t *testing.T) {
	b := newBench(t)
	b.appends(b.stage("a"), b.stage("a"))
	b.appends(b.stage("b"))
	b.appends(b.stage("a"))
	b.run()
	b.expect("write a-0", "write b-0", "finished: <nil>", "finished: <nil>", "finished: <nil>", "finished: <nil>")
}

// A log is opened anew behind its last write: what stands behind appends in the queue must not overtake them.
func TestATaskBehindAppendsWaitsForThem(t *testing.T) {
	b := newBench(t)
	b.appends(b.stage("a"))
	b.lane().Send(&Task{Name: "pass", Do: func() error { b.note("task"); return nil }, Done: func(error) {}})
	b.run()
	b.expect("write a-0", "task", "finished: <nil>")
}

func TestALaneThatPanicsAnswersItsOwners(t *testing.T) {
	b := newBench(t)
	b.appends(b.stage("a"))
	b.lane().Panic()
	b.run()
	if len(b.events) != 1 || !strings.Contains(b.events[0], "finished: actor append-0 panicked") {
		t.Fatalf("happened: %v", b.events)
	}
}

func TestOnlyTheDevicesErrorsFenceADirectory(t *testing.T) {
	for title, c := range map[string]struct {
		op     vfs.Op
		err    error
		fences bool
	}{
		"a full disk on a write": {vfs.OpWrite, syscall.ENOSPC, false}, "EIO on a write": {vfs.OpWrite, syscall.EIO, true},
		"a read-only device": {vfs.OpWrite, syscall.EROFS, true}, "any error of a sync": {vfs.OpSync, syscall.ENOSPC, true},
	} {
		t.Run(title, func(t *testing.T) {
			b := newBench(t)
			b.fs.Hook(func(call vfs.Call) vfs.Fault {
				if call.Op == c.op {
					return vfs.Fault{Err: c.err}
				}
				return vfs.Fault{}
			})
			job := b.stage("a")
			b.appends(job)
			b.run()
			if c.op == vfs.OpSync {
				log := b.logs["a"]
				log.Done(job, nil)
				b.dir.Lane(Fsync).Send(&Run{Job: log.Flush(), Owner: b.owner})
				b.run()
			}
			if (b.fenced == 1) != c.fences || (b.dir.Err() != nil) != c.fences {
				t.Errorf("fenced %d times, the directory says %v", b.fenced, b.dir.Err())
			}
			if !c.fences {
				return
			}
			b.events = nil
			b.dir.Lane(Metadata).Send(&Task{Name: "late", Do: func() error { t.Error("work for a fenced directory was done"); return nil },
				Done: func(err error) { b.note("%v", errors.Is(err, ErrFenced)) }})
			b.appends(b.stage("b"))
			b.run()
			if len(b.events) != 2 || b.fenced != 1 {
				t.Errorf("happened: %v, fenced %d times", b.events, b.fenced)
			}
		})
	}
}
