package move

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/vfs"
)

// Whatever call of a move to the disk the power fails in, the next start finds the log in one directory, with all that was
// acknowledged, and the move goes on to its end. It is in the other one only where the metadata says so.
func TestAPowerCutAtAnyCallOfAMoveLeavesTheLogWholeInOneDirectory(t *testing.T) {
	ended := false
	for n := 0; !ended; n++ {
		w := newWorld(t, uint64(n))
		w.produce(numbered(25)...)
		w.run()
		w.fs.CutAfter(n)
		w.to("/b")
		w.produce("during the move", "and another")
		w.run()
		ended = w.handle.Dir().Path == "/b" && w.dirs["/b"].Err() == nil && w.dirs["/a"].Err() == nil && n > 40
		w.fs.Crash()
		w.resumed(n)
		if t.Failed() || n > 2000 {
			t.Fatalf("after a cut in call %d", n)
		}
	}
}

// The same for a process that is killed, after any message of the move.
func TestAKillAtAnyMessageOfAMoveLeavesTheLogWholeInOneDirectory(t *testing.T) {
	ended := false
	for n := 0; !ended; n += 1 + n/40 {
		w := newWorld(t, uint64(n))
		w.produce(numbered(25)...)
		w.run()
		w.to("/b")
		w.produce("during the move", "and another")
		ended = w.order.Run(n) < n
		w.life.gone = true
		w.fs.Exit()
		w.resumed(n)
		if t.Failed() || n > 5000 {
			t.Fatalf("after a kill at message %d", n)
		}
	}
}

// resumed starts the next process, checks that nothing is lost, and lets the move go on.
func (w *world) resumed(n int) {
	w.t.Helper()
	named := w.named
	in, open := w.again(false)
	if in == "/b" && named != in {
		w.t.Errorf("the log lies in %s, and the metadata names %s", in, named)
	}
	w.pass(10 * time.Millisecond)
	w.acknowledged(false)
	for _, m := range open {
		if m.Of != tp.String() || in != "/a" || m.Dir != "/b" {
			w.t.Errorf("the log is in %s, and a move goes on: %+v", in, m)
		}
		w.moves.Send(&Begin{Handle: w.handle, To: w.dirs[m.Dir], Path: m.Path})
		w.pass(3 * time.Second)
		if got := w.handle.Dir().Path; got != "/b" {
			w.t.Errorf("the move that goes on ends in %s", got)
		}
	}
	w.sent = w.sent[:0]
	w.produce("after the start")
	w.pass(2 * time.Second)
	w.acknowledged(true)
}

// moveFailing moves a replica with records to /b, with a directory that fails after n calls; true when it took no more.
func (w *world) moveFailing(dir string, n int) bool {
	w.produce(numbered(25)...)
	w.run()
	calls := 0
	w.fs.Hook(func(c vfs.Call) vfs.Fault {
		if !strings.HasPrefix(c.Name, dir) {
			return vfs.Fault{}
		}
		if calls++; calls > n {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	w.to("/b")
	w.run()
	w.pass(2 * time.Second)
	return calls <= n
}

// A directory that fails in any call leaves the replica where it was, or takes it along when it has it; the other directory
// has none of it that a start would take for the log.
func TestADestinationThatFailsAtAnyCallEndsTheMove(t *testing.T) {
	ended := false
	for n := 0; !ended; n++ {
		w := newWorld(t, uint64(n))
		ended = w.moveFailing("/b", n)
		names := w.names("/a")
		if in := w.handle.Dir().Path; w.named != in {
			t.Errorf("it lies in %s, and the metadata names %s", in, w.named)
		}
		switch in := w.handle.Dir(); in.Path {
		case "/a":
			w.produce("after it")
			w.run()
			w.acknowledged(true)
			if w.handle.Future() != nil || !slices.Contains(names, "orders-0") {
				t.Errorf("the copy is %+v, there is %q", w.handle.Future(), names)
			}
		case "/b":
			if slices.Contains(names, "orders-0") {
				t.Errorf("it lies in /b, and in /a is %q", names)
			}
			if !ended && !errors.Is(in.Err(), syscall.EIO) {
				t.Errorf("the failed directory's error is %v", in.Err())
			}
		}
		w.fs.Hook(nil)
		w.life.gone = true
		w.fs.Exit()
		w.again(true)
		w.acknowledged(false)
		if t.Failed() || n > 2000 {
			t.Fatalf("with /b failing from call %d on", n)
		}
	}
}

// A source that fails in any call takes the replica down, or comes too late for that; whichever it is, the log is whole in one of
// the two directories when the disk is there again.
func TestASourceThatFailsAtAnyCallLeavesTheLogWholeInOneDirectory(t *testing.T) {
	ended := false
	for n := 0; !ended; n++ {
		w := newWorld(t, uint64(n))
		ended = w.moveFailing("/a", n)
		if in := w.handle.Dir(); w.named != in.Path {
			t.Errorf("it lies in %s, and the metadata names %s", in.Path, w.named)
		} else if in.Path == "/b" {
			w.produce("after it")
			w.run()
			w.acknowledged(true)
		}
		w.fs.Hook(nil)
		w.life.gone = true
		w.fs.Exit()
		w.again(true)
		w.acknowledged(false)
		if t.Failed() || n > 2000 {
			t.Fatalf("with /a failing from call %d on", n)
		}
	}
}

// One call that finds the disk full, whichever it is, costs time and nothing else.
func TestADiskThatIsFullForOneCallEndsNoMoveInDoubt(t *testing.T) {
	ended := false
	for n := 0; !ended; n++ {
		w := newWorld(t, uint64(n))
		w.produce(numbered(25)...)
		w.run()
		calls := 0
		w.fs.Hook(func(vfs.Call) (f vfs.Fault) {
			if calls++; calls == n {
				f.Err = syscall.ENOSPC
			}
			return f
		})
		w.to("/b")
		w.run()
		w.pass(5 * time.Second)
		ended = calls < n
		w.fs.Hook(nil)
		w.produce("after it")
		w.pass(5 * time.Second)
		w.acknowledged(false)
		if last := w.sent[len(w.sent)-1]; !last.done || last.code != kerr.None {
			w.t.Errorf("in the end a record is answered: %v, %s", last.done, last.code.Name())
		}
		if in := w.handle.Dir(); w.named != in.Path || w.handle.Future() != nil {
			t.Errorf("it lies in %s, the metadata names %s, the copy is %+v", in.Path, w.named, w.handle.Future())
		}
		if t.Failed() || n > 2000 {
			t.Fatalf("where call %d finds no room", n)
		}
	}
}
