package replica

import (
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/vfs"
)

func amongFaults(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	random := rand.New(rand.NewPCG(seed, 2))
	cfg := config()
	cfg.Log.SegmentBytes = 400 // a roll every few batches
	if random.IntN(2) == 0 {
		cfg.FlushMessages = 1
	}
	h := w.host(1, true, cfg)
	s := w.sink(h)
	s.quiet = true
	w.fs.Hook(func(c vfs.Call) vfs.Fault {
		if !strings.Contains(c.Name, tp.String()) || random.IntN(30) > 0 {
			return vfs.Fault{}
		}
		switch c.Op {
		case vfs.OpWrite:
			return vfs.Fault{Err: []error{io.ErrShortWrite, syscall.ENOSPC}[random.IntN(2)], Bytes: random.Int64N(c.Len + 1)}
		case vfs.OpCreate:
			return vfs.Fault{Err: syscall.ENOSPC}
		}
		return vfs.Fault{}
	})
	for range 60 {
		for range random.IntN(4) {
			s.append(random.IntN(2) == 0, time.Hour)
		}
		w.order.Run(random.IntN(20))
		if random.IntN(8) == 0 {
			w.strike(random)
		}
		w.clock.Advance(time.Duration(random.IntN(400)) * time.Millisecond)
	}
	w.fs.Hook(nil)
	w.recover(s)
	s.settled()
	log := w.content(h)
	if v := h.View(); v.HighWatermark != v.LogEnd || int(v.LogEnd) != len(log) {
		t.Errorf("high watermark %d, end %d, %d records", v.HighWatermark, v.LogEnd, len(log))
	}
}

// strike makes one actor panic: the replica, its shard, or a lane.
func (w *world) strike(random *rand.Rand) {
	tree := w.system.Tree()
	if ref, ok := w.system.Find(tree[random.IntN(len(tree))].Name); ok && !strings.Contains(ref.Name(), "warden") {
		ref.Panic()
	}
}

// recover lets backoffs and rests pass until an append is taken again.
func (w *world) recover(s *sink) {
	w.t.Helper()
	for range 20 {
		w.clock.Advance(3 * time.Second)
		w.run()
		s.append(true, time.Hour)
		w.run()
		if a := s.answers[len(s.values)-1]; len(a) == 1 && a[0].Code == kerr.None {
			return
		}
	}
	w.t.Fatalf("the replica takes no appends any more; the last answer was %+v; directory: %v", s.answers[len(s.values)-1], w.dir.Err())
}

func TestAWatchOutlivesARestart(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	h.Send(&Watch{Watcher: &watcher{w, "session"}, Key: 3, Seen: 0})
	w.run()
	for _, name := range []string{"replicas/t-0", "replicas"} {
		ref, _ := w.system.Find(name)
		ref.Panic()
		w.run()
		w.clock.Advance(time.Second)
		w.run()
	}
	if len(w.events) == 0 {
		t.Error("the watcher was not told that its replica was away")
	}
	w.events = nil
	s := w.sink(h)
	s.append(true, time.Hour)
	w.run()
	w.expectEvents("append 0: NONE at 0", "session: 3 changed")
}

func TestAReplicaThatKeepsFailingLeavesItsPartitionOffline(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	for range 10 {
		if ref, ok := w.system.Find("replicas/t-0"); ok {
			ref.Panic()
		}
		w.run()
		w.clock.Advance(2500 * time.Millisecond)
		w.run()
	}
	s := w.sink(h)
	s.append(true, time.Hour)
	w.run()
	w.expectEvents("append 0: NOT_LEADER_OR_FOLLOWER at -1")
	closed := -1
	w.shard.Send(&CloseAll{Done: func(failed int) { closed = failed }})
	w.run()
	if closed != 1 {
		t.Errorf("a shutdown counts %d logs that were not closed, want 1", closed)
	}
}
