package partitionlog

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// current is the view that the owner published last.
type current struct{ atomic.Pointer[View] }

func TestReadersSeeWholeBatchesWhileTheLogGrowsRollsAndIsCleanedUp(t *testing.T) {
	cfg := testConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes, cfg.RetentionBytes, cfg.FileDeleteDelayMs = 20_000, 500, 100_000, 0
	l, env, _ := newLogOnDisk(t, cfg)
	env.Dirty.limit = 0
	var now current
	now.Store(l.View())
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() { now.follow(t, done) })
	}
	appends, work := lane(RunAppends), lane(func(jobs []*Job) []error { return []error{jobs[0].Run()} })
	underWay := 0
	ask := func(jobs ...*Job) {
		for _, j := range jobs {
			if j != nil {
				work.in <- []*Job{j}
				underWay++
			}
		}
	}
	for i := int64(0); i < 3000; i++ {
		appends.in <- stageTimes(t, l, i)
		underWay++
		if i%50 == 0 {
			ask(l.Retention(i))
		}
		for underWay > 8 || i == 2999 && underWay > 0 {
			var o outcome
			select {
			case o = <-appends.out:
			case o = <-work.out:
			}
			underWay--
			doneAll(l, o.jobs, o.errs)
			l.SetHighWatermark(l.LogEnd())
			now.Store(l.View())
			ask(l.Background(i)...)
		}
	}
	if l.Err() != nil || l.LogEnd() != 6000 {
		t.Fatalf("the log ends at %d, %v", l.LogEnd(), l.Err())
	}
	close(appends.in)
	close(work.in)
	close(done)
	readers.Wait()
	// On a busy machine the last retention under way may have been staged long before the last append.
	for j := l.Retention(3000); j != nil; j = l.Retention(3000) {
		l.Done(j, j.Run())
	}
	if l.LogStart() == 0 || l.Size() > 180_000 {
		t.Errorf("the log starts at %d with %d bytes", l.LogStart(), l.Size())
	}
}

// outcome is what a lane sends back.
type outcome struct {
	jobs []*Job
	errs []error
}

// lane runs jobs on a goroutine of its own, as the disk actors do.
func lane(run func([]*Job) []error) (l struct {
	in  chan []*Job
	out chan outcome
}) {
	l.in, l.out = make(chan []*Job, 16), make(chan outcome, 16)
	go func() {
		for jobs := range l.in {
			l.out <- outcome{jobs, run(jobs)}
		}
	}()
	return l
}

// stageTimes stages two batches with a timestamp.
func stageTimes(t *testing.T, l *Log, ms int64) (jobs []*Job) {
	t.Helper()
	for range 2 {
		_, j, err := l.Stage(at(ms), StageOptions{NowMs: ms})
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// follow reads to the end of what there is once done is closed. A reader that retention overtakes goes on at the start.
func (c *current) follow(t *testing.T, done chan struct{}) {
	for from := model.Offset(0); ; {
		select {
		case <-done:
			if from >= c.Load().HighWatermark {
				return
			}
		default:
		}
		v := c.Load()
		from = max(from, v.LogStart)
		next, err := readOn(v, from)
		if err == nil {
			_, _, err = v.OffsetForTime(int64(next), v.LogEnd)
		}
		if err != nil && !errors.Is(err, ErrStale) {
			t.Error(err)
			return
		}
		if err != nil || next == from {
			runtime.Gosched()
		}
		from = next
	}
}

// readOn reads one region and checks its batches.
func readOn(v *View, from model.Offset) (model.Offset, error) {
	r, err := v.Read(from, v.HighWatermark, 3000, true)
	if err != nil || r.Len == 0 {
		return from, err
	}
	defer r.Release()
	b := make([]byte, r.Len)
	if err := readFull(r.File, b, r.Pos); err != nil {
		return from, err
	}
	for len(b) > 0 {
		first, rest, err := batch.First(b)
		if err != nil || first.CheckCRC() != nil || first.BaseOffset() != from {
			return from, fmt.Errorf("read at %d: batch %d, %w", from, first.BaseOffset(), err)
		}
		from, b = first.NextOffset(), rest
	}
	return from, nil
}
