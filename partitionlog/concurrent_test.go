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
	for i := range 3000 {
		appendAll(t, l, StageOptions{NowMs: int64(i)}, at(int64(i)))
		now.Store(l.View())
		if i%50 == 0 {
			background(t, l, int64(i))
			if j := l.Retention(int64(i)); j != nil {
				l.Done(j, j.Run())
				now.Store(l.View())
			}
		}
	}
	close(done)
	readers.Wait()
	if l.LogStart() == 0 || l.Size() > 140_000 {
		t.Errorf("the log starts at %d with %d bytes", l.LogStart(), l.Size())
	}
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
