package partitionlog

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// sized makes a batch of so many bytes, of an idempotent producer when id is not negative.
func sized(size int, id model.ProducerID) batch.View {
	o := batch.Options{}
	if id >= 0 {
		o.Producer = &batch.Producer{ID: id}
	}
	build := func(value int) batch.View {
		v, err := batch.NewBuilder(o).Add(batch.Record{Timestamp: 1_700_000_000_000, Value: make([]byte, value)}).Build()
		if err != nil {
			panic(err)
		}
		return v
	}
	return build(size - (len(build(size)) - size))
}

func BenchmarkStageAndDone(b *testing.B) {
	l := New(testEnv(vfs.OS()), filepath.Join(b.TempDir(), "t-0"), testPartition, testConfig(), testTopic)
	v := sized(1024, -1)
	b.ReportAllocs()
	for b.Loop() {
		_, j, err := l.Stage(v, StageOptions{NowMs: 1})
		if err != nil {
			b.Fatal(err)
		}
		l.Done(j, nil)
	}
}

func TestAskingForBackgroundWorkCostsNothingWhenThereIsNone(t *testing.T) {
	l, _, _ := newLogOnDisk(t, testConfig())
	appendAll(t, l, StageOptions{}, at(1))
	background(t, l, 1)
	if n := testing.AllocsPerRun(100, func() { l.Background(2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendsOf1KiBThirtyTwoAtATime(b *testing.B) { benchmarkAppends(b, 1024, 32) }

func BenchmarkAppendsOf64KiBFourAtATime(b *testing.B) { benchmarkAppends(b, 64<<10, 4) }

func benchmarkAppends(b *testing.B, size, together int) {
	cfg := testConfig()
	cfg.SegmentBytes = 64 << 20
	l := New(testEnv(vfs.OS()), filepath.Join(b.TempDir(), "t-0"), testPartition, cfg, testTopic)
	v := sized(size, -1)
	jobs := make([]*Job, together)
	b.SetBytes(int64(size * together))
	b.ReportAllocs()
	for b.Loop() {
		for i := range jobs {
			_, jobs[i], _ = l.Stage(v, StageOptions{NowMs: 1})
		}
		for i, err := range RunAppends(jobs) {
			l.Done(jobs[i], err)
			if err != nil {
				b.Fatal(err)
			}
		}
		l.SetHighWatermark(l.LogEnd())
		l.View()
	}
}

func BenchmarkReadAtTheEnd(b *testing.B) {
	l := New(testEnv(vfs.OS()), filepath.Join(b.TempDir(), "t-0"), testPartition, testConfig(), testTopic)
	for range 1000 {
		_, j, _ := l.Stage(sized(1024, -1), StageOptions{})
		l.Done(j, j.Run())
	}
	v := l.View()
	b.ReportAllocs()
	for b.Loop() {
		r, err := v.Read(990, 1000, 1<<20, true)
		if err != nil || r.Len != 10*1024 {
			b.Fatal(r, err)
		}
		r.Release()
	}
}

func BenchmarkReadSequentiallyInAMiB(b *testing.B) {
	l := New(testEnv(vfs.OS()), filepath.Join(b.TempDir(), "t-0"), testPartition, testConfig(), testTopic)
	for range 100_000 {
		_, j, _ := l.Stage(sized(1024, -1), StageOptions{})
		l.Done(j, j.Run())
	}
	v := l.View()
	var at model.Offset
	b.ReportAllocs()
	for b.Loop() {
		if at >= v.LogEnd {
			at = 0
		}
		r, err := v.Read(at, v.LogEnd, 1<<20, true)
		if err != nil || r.Len == 0 {
			b.Fatal(r, err)
		}
		if r.Len%1024 != 0 {
			b.Fatal("a torn batch")
		}
		at += model.Offset(r.Len / 1024)
		r.Release()
	}
}

// BenchmarkOpenAfterAKill opens logs that hold half a MiB behind their recovery points, one an iteration.
func BenchmarkOpenAfterAKill(b *testing.B) {
	dir, env := b.TempDir(), testEnv(vfs.OS())
	const logs = 50
	var ends [logs]OpenParams
	for i := range logs {
		l := New(env, filepath.Join(dir, fmt.Sprint("t-", i)), testPartition, testConfig(), testTopic)
		seq := model.Sequence(0)
		for k := range 256 {
			v, _ := batch.NewBuilder(batch.Options{Producer: &batch.Producer{ID: 7, Sequence: seq}}).
				Add(batch.Record{Timestamp: int64(k), Value: make([]byte, 16<<10)}).Build()
			seq++
			_, j, err := l.Stage(v, StageOptions{})
			if err != nil {
				b.Fatal(err)
			}
			l.Done(j, j.Run())
			if k == 220 {
				for _, j := range l.Background(0) {
					l.Done(j, j.Run())
				}
				l.checkpointAt(l.next)
				j := l.maintain(0)
				l.Done(j, j.Run())
				ends[i].RecoveryPoint = l.RecoveryPoint()
			}
		}
		l.Abandon()
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		l, r, err := Open(env, filepath.Join(dir, fmt.Sprint("t-", i%logs)), testPartition, testConfig(), ends[i%logs])
		if err != nil || r.ScannedBytes == 0 || r.ScannedBytes > 1<<20 {
			b.Fatal(r, err)
		}
		l.Abandon()
		i++
	}
}

func TestALogThatNeverHeldARecordTakesLittleMemory(t *testing.T) {
	const logs = 2000
	env := testEnv(vfs.OS())
	kept := make([]*Log, logs)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		tp := model.TopicPartition{Topic: "some-topic", Partition: int32(i)}
		kept[i] = New(env, "/var/lib/troupe/"+tp.String(), tp, testConfig(), testTopic)
		kept[i].View()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (after.HeapAlloc - before.HeapAlloc) / logs; each > 2048 {
		t.Errorf("%d bytes each, at most 2048 are allowed", each)
	} else {
		t.Logf("%d bytes each", each)
	}
	runtime.KeepAlive(kept)
}
