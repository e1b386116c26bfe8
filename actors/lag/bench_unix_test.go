//go:build unix

package lag_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/actors/group"
	"troupe/actors/lag"
	"troupe/codec/kerr"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// Of the benchmark: groups that read all of three partitions each, of logs on disk.
const (
	benchGroups     = 10_000
	benchPartitions = 300
	benchBatches    = 200 // of ten records, in each log
	benchEvery      = 100 * time.Millisecond
)

// BenchmarkRound tells what it costs to measure 10,000 groups of three partitions, all of them behind: nobody has moved since
// the last round, all have, near the ends of the logs, or anywhere. Its share of a core is for a round every ten seconds.
func BenchmarkRound(b *testing.B) {
	for _, c := range []struct {
		name string
		// offset of a group's commit before round n.
		offset func(n, group int) model.Offset
	}{
		{"nobody moves", func(int, int) model.Offset { return 5 }},
		{"all move near the ends", func(n, g int) model.Offset { return model.Offset(10*benchBatches - 1 - (n+g)%1000) }},
		{"all move anywhere", func(n, g int) model.Offset { return model.Offset((7*n + 13*g) % (10 * benchBatches)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			w := newWorld(b, clock.System(), vfs.OS(), dir, benchEvery, lag.Options{SeriesMax: 1000}, nil)
			b.Cleanup(func() {
				if err := w.system.Shutdown(context.Background()); err != nil {
					b.Log(err)
				}
			})
			w.coordinate()
			w.fillAll()
			w.coordinated()
			w.commitAll(func(g int) model.Offset { return c.offset(0, g) })
			w.await(time.Now())
			var spent time.Duration
			b.ResetTimer()
			for n := range b.N {
				b.StopTimer()
				w.commitAll(func(g int) model.Offset { return c.offset(n+1, g) })
				b.StartTimer()
				before := processor(b)
				// The first round after this moment may have begun before it; the next is whole.
				w.await(w.await(time.Now()))
				spent += processor(b) - before
			}
			// The round that finds the moves is counted with the one after it, which finds none.
			each := spent / time.Duration(b.N)
			b.ReportMetric(float64(each.Microseconds())/1000, "cpu-ms/round")
			b.ReportMetric(100*each.Seconds()/10, "%core")
		})
	}
}

// processor is the processor time that this process has taken.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (w *world) fillAll() {
	var all sync.WaitGroup
	for n := range int32(benchPartitions) {
		h := w.lead(tp("t", n))
		for deadline := time.Now().Add(time.Minute); !h.Status().Leader; {
			if time.Now().After(deadline) {
				w.t.Fatal("it does not lead")
			}
		}
		for i := range int64(benchBatches) {
			all.Add(1)
			w.append(h, 10*i, 10, all.Done)
		}
		all.Wait()
	}
}

// coordinated waits until the coordinator has loaded its partition.
func (w *world) coordinated() {
	for code := kerr.CoordinatorLoadInProgress; code != kerr.None; {
		told := make(chan kerr.Code, 1)
		w.commit("group-0", func(c kerr.Code) { told <- c }, commit(tp("t", 0), 0))
		code = <-told
	}
}

func (w *world) commitAll(offset func(group int) model.Offset) {
	var all sync.WaitGroup
	for g := range benchGroups {
		all.Add(1)
		var commits []group.Commit
		for n := range 3 {
			commits = append(commits, commit(tp("t", int32((g+n*100)%benchPartitions)), offset(g)))
		}
		w.commit(fmt.Sprint("group-", g), func(code kerr.Code) {
			if code != kerr.None {
				w.t.Errorf("commit: %v", code)
			}
			all.Done()
		}, commits...)
	}
	all.Wait()
}

// await waits for a report on all groups that is younger than a moment, and gives its own.
func (w *world) await(moment time.Time) time.Time {
	for {
		if r := w.board.Last(); r != nil && r.At.After(moment) && r.Unknown == 0 && len(r.Groups)+r.GroupsOmitted == benchGroups {
			return r.At
		}
		<-time.After(5 * time.Millisecond)
	}
}
