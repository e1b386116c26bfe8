package replica

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

func TestAProducerIsAnsweredAfterTheViewAndBeforeTheWatchers(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	x := &watcher{w, "poll"}
	h.Send(&Watch{Watcher: x, Key: 7, Seen: 0})
	w.run()
	w.expectEvents()
	s := w.sink(h)
	s.append(true, time.Hour)
	w.run()
	w.expectEvents("append 0: NONE at 0", "poll: 7 changed")
	s.settled()
}

func TestAWatchThatComesTooLateIsToldAtOnce(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	s := w.sink(h)
	s.append(false, time.Hour)
	w.run()
	w.events = nil
	h.Send(&Watch{Watcher: &watcher{w, "late"}, Key: 1, Seen: 0, Once: true})
	w.run()
	w.expectEvents("late: 1 changed")
	s.append(false, time.Hour)
	w.run()
	w.expectEvents("append 1: NONE at 1") // it had asked for one call
}

func TestAppendsThatComeWhileTheLogIsOpenedWait(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	s := w.sink(h)
	s.append(true, time.Hour)
	w.run()
	w.begin() // the process is another one; the old one's files are there
	h = w.host(1, false, config())
	for h.actor.Load() == nil {
		w.order.Step()
	}
	again := w.sink(h)
	again.values = []string{"value 0"}
	again.answers[0] = s.answers[0]
	again.append(true, time.Hour)
	w.run()
	again.settled()
	if got := again.answers[1][0]; got.Code != kerr.None || got.BaseOffset != 1 {
		t.Errorf("answered %+v", got)
	}
}

func TestFlushMessagesAnswersAfterTheSync(t *testing.T) {
	w := newWorld(t, 1)
	cfg := config()
	cfg.FlushMessages = 1
	h := w.host(1, true, cfg)
	w.run()
	w.fs.Hook(func(c vfs.Call) vfs.Fault {
		if strings.HasSuffix(c.Name, ".log") && c.Op != vfs.OpCreate {
			w.note("%s", c.Op)
		}
		return vfs.Fault{}
	})
	s := w.sink(h)
	s.append(false, time.Hour)
	w.run()
	w.expectEvents("write", "sync", "append 0: NONE at 0")
}

func TestFlushMsSyncsWhatHasWaitedSoLong(t *testing.T) {
	w := newWorld(t, 1)
	cfg := config()
	cfg.FlushAfter = 100 * time.Millisecond
	h := w.host(1, true, cfg)
	w.run()
	s := w.sink(h)
	s.append(false, time.Hour)
	w.run()
	w.fs.Hook(func(c vfs.Call) vfs.Fault {
		if strings.HasSuffix(c.Name, ".log") {
			w.note("%s", c.Op)
		}
		return vfs.Fault{}
	})
	w.events = nil
	w.clock.Advance(99 * time.Millisecond)
	w.run()
	w.expectEvents()
	w.clock.Advance(time.Millisecond)
	w.run()
	w.expectEvents("sync")
}

func TestEachWaitForTheISREndsAtItsOwnDeadline(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config(), 2)
	w.run()
	s := w.sink(h)
	s.append(true, 30*time.Second)
	w.run()
	s.append(true, time.Second)
	w.run()
	w.clock.Advance(time.Second)
	w.run()
	w.expectEvents("append 1: REQUEST_TIMED_OUT at -1")
	w.clock.Advance(29 * time.Second)
	w.run()
	w.expectEvents("append 0: REQUEST_TIMED_OUT at -1")
	if h.View().LogEnd != 2 {
		t.Errorf("the log ends at %d: what timed out stays in it", h.View().LogEnd)
	}
}

func TestAnAnswerThatComesBeforeTheWriteEndsKeepsTheBytes(t *testing.T) {
	m := newMachine()
	lead(0, 1, 0, 0, 1, 2)(m)
	await(1, 1, true)(m)
	await(2, 2, true)(m)
	written(1)(m)
	for i, a := range m.Resign().Answers {
		if held := a.Index == 2; a.Result.BytesHeld != held {
			t.Errorf("answer %d: bytes held %v, want %v", i, a.Result.BytesHeld, held)
		}
	}
}

func TestAFullDiskIsLeftAloneForAWhileAndReadOn(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	s := w.sink(h)
	s.append(true, time.Hour)
	w.run()
	w.fs.Fill(1)
	s.append(true, time.Hour)
	w.run()
	s.append(true, time.Hour) // refused without a write
	w.run()
	w.expectEvents("append 0: NONE at 0", "append 1: KAFKA_STORAGE_ERROR at -1", "append 2: KAFKA_STORAGE_ERROR at -1")
	if st := h.Status(); !st.Leader || !st.Online {
		t.Errorf("readers are sent away: %+v", st)
	}
	w.content(h)
	w.fs.Fill(-1)
	w.clock.Advance(restFor)
	w.run()
	s.append(true, time.Hour)
	w.run()
	w.expectEvents("append 3: NONE at 1")
	s.settled()
}

func TestAFencedDirectoryAnswersEverybody(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	w.fs.Hook(func(c vfs.Call) vfs.Fault {
		if c.Op == vfs.OpWrite {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	s := w.sink(h)
	for range 3 {
		s.append(true, time.Hour)
	}
	w.run()
	w.fs.Hook(nil)
	s.append(true, time.Hour)
	h.Send(&DeleteRecords{Before: -1, Done: func(_ model.Offset, code kerr.Code) { w.note("delete records: %s", code.Name()) }})
	w.run()
	w.expectEvents("append 0: KAFKA_STORAGE_ERROR at -1", "append 1: KAFKA_STORAGE_ERROR at -1", "append 2: KAFKA_STORAGE_ERROR at -1",
		"delete records: KAFKA_STORAGE_ERROR", "append 3: KAFKA_STORAGE_ERROR at -1")
	if w.fenced.count != 1 || !errors.Is(w.dir.Err(), syscall.EIO) {
		t.Errorf("the warden heard %d times; the directory says %v", w.fenced.count, w.dir.Err())
	}
}

// The directory's failure may have gone to the controller and come back as an order before the replica hears of its write.
func TestAFencedDirectoryIsToldOfThoughTheLeadershipMovedMeanwhile(t *testing.T) {
	w := newWorld(t, 1)
	h := w.host(1, true, config())
	w.run()
	w.fs.Hook(func(c vfs.Call) vfs.Fault {
		if c.Op != vfs.OpWrite {
			return vfs.Fault{}
		}
		h.Send(&Resign{})
		return vfs.Fault{Err: syscall.EIO}
	})
	s := w.sink(h)
	s.append(true, time.Hour)
	s.append(false, time.Hour)
	w.run()
	w.expectEvents("append 1: KAFKA_STORAGE_ERROR at -1", "append 0: KAFKA_STORAGE_ERROR at -1")
}

// Under any order of events, writes fail, actors of every kind panic and time goes by: each append is answered once,
// and what was answered with success stands in the log.
func TestAppendsAmongPanicsAndFailingWrites(t *testing.T) {
	for seed := range uint64(200) {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { amongFaults(t, seed) }) {
			return
		}
	}
}
