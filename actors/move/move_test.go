package move

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/internal/vfs"
)

func TestAReplicaIsMovedToAnotherLogDirectory(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(t, seed)
		w.produce(numbered(40)...)
		w.run()
		w.to("/b")
		w.produce("during the move")
		w.run()
		if got := w.handle.Dir().Path; got != "/b" {
			t.Fatalf("it lies in %s", got)
		}
		if a, b := w.names("/a"), w.names("/b"); !slices.Equal(a, []string{"orders-0.#-delete"}) || !slices.Equal(b, []string{"orders-0"}) {
			t.Errorf("the directories are %q and %q", a, b)
		}
		w.produce("after it")
		w.run()
		w.acknowledged(true)
		if w.handle.Future() != nil || w.moved != 1 {
			t.Errorf("the copy is %v, told of %d times", w.handle.Future(), w.moved)
		}
		w.pass(61 * time.Second)
		if a := w.names("/a"); len(a) > 0 {
			t.Errorf("after file.delete.delay.ms there is %q", a)
		}
		w.to("/a") // and back
		w.produce("on the way back")
		w.run()
		w.acknowledged(true)
		if got := w.handle.Dir().Path; got != "/a" {
			t.Fatalf("it lies in %s", got)
		}
	}
}

func TestTheFutureReplicaIsShownWhileItGrows(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(numbered(40)...)
	w.run()
	w.rate = 0
	w.to("/b")
	w.run()
	f := w.handle.Future()
	if f == nil || f.Dir.Path != "/b" || f.End >= 40 {
		t.Fatalf("the copy is %+v", f)
	}
	if b := w.names("/b"); !slices.Equal(b, []string{"orders-0.#-future"}) {
		t.Errorf("there is %q", b)
	}
	w.rate = 1 << 20
	w.pass(2 * time.Second)
	if got := w.handle.Dir().Path; got != "/b" {
		t.Errorf("it lies in %s", got)
	}
}

// What is copied is at the quota over any stretch, but for a window's worth and the read that exceeds it: a segment of 1000 bytes.
func TestAMoveIsAsFastAsItsQuota(t *testing.T) {
	const rate = 4000
	w := newWorld(t, 1)
	for range 100 {
		w.produce(strings.Repeat("x", 400))
		w.run()
	}
	size := float64(w.handle.Size())
	w.rate = rate
	w.to("/b")
	w.run()
	took := time.Duration(0)
	for ; w.handle.Dir().Path != "/b" && took < time.Minute; took += 100 * time.Millisecond {
		w.pass(100 * time.Millisecond)
		if f := w.handle.Future(); f != nil && float64(f.Size) > rate*(took.Seconds()+0.1+1)+1000 {
			t.Fatalf("after %s %d bytes are copied", took, f.Size)
		}
	}
	if want := size / rate; took.Seconds() < want-1 || took.Seconds() > want+1 {
		t.Errorf("%g bytes took %s, want %g s but for one", size, took, want)
	}
	w.acknowledged(true)
}

// What clients ask next is to show what they asked for.
func TestWhoAsksForAMoveIsAnsweredWhenItIsShown(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(t, seed)
		w.produce(numbered(40)...)
		w.run()
		w.rate = 0
		answers := map[string]error{}
		ask := func(dir, shown string) {
			w.moves.Send(&Begin{Handle: w.handle, To: w.dirs[dir], Done: func(err error) {
				if _, again := answers[shown]; again {
					t.Errorf("%q is answered twice", shown)
				}
				answers[shown] = err
				if got := fmt.Sprintf("%q %v", w.names("/b"), w.handle.Future() != nil); got != shown {
					t.Errorf("who asks for a move to %s is answered with %s to be seen, want %s", dir, got, shown)
				}
			}})
			w.run()
			if err, answered := answers[shown]; !answered || err != nil {
				t.Fatalf("%q: answered %v, %v", shown, answered, err)
			}
			delete(answers, shown)
		}
		ask("/b", `["orders-0.#-future"] true`)
		ask("/b", `["orders-0.#-future"] true`) // it is on its way already
		ask("/a", `[] false`)
		ask("/a", `[] false`) // it is there already
	}
}

func TestWhoAsksForAMoveThatCannotBeginIsToldSo(t *testing.T) {
	w := newWorld(t, 1)
	w.fs.Hook(func(c vfs.Call) vfs.Fault {
		if strings.HasPrefix(c.Name, "/b") {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	var answer error
	w.moves.Send(&Begin{Handle: w.handle, To: w.dirs["/b"], Done: func(err error) { answer = err }})
	w.run()
	if !errors.Is(answer, syscall.EIO) || w.handle.Future() != nil || w.handle.Dir().Path != "/a" {
		t.Errorf("the answer is %v, the replica in %s, its copy %+v", answer, w.handle.Dir().Path, w.handle.Future())
	}
}

// A directory that fails, or is gone at the next start, is known to have had the replica.
func TestTheMetadataNamesTheOtherDirectoryBeforeTheReplicaLiesThere(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(numbered(10)...)
	w.run()
	w.answering = false
	w.to("/b")
	w.run()
	if in := w.handle.Dir().Path; in != "/a" || w.named != "/a" || len(w.asked) != 1 {
		t.Fatalf("nobody answered, and the replica is in %s, by the metadata in %s, asked %d times", in, w.named, len(w.asked))
	}
	w.produce("while nobody answers")
	w.pass(time.Minute)
	w.acknowledged(true)
	w.answering = true
	w.answer()
	w.produce("and then")
	w.pass(time.Second)
	w.acknowledged(true)
	if in := w.handle.Dir().Path; in != "/b" || w.named != "/b" {
		t.Errorf("the replica is in %s, by the metadata in %s", in, w.named)
	}
}

func TestAMoveThatIsGivenUpAfterTheMetadataWasToChangeSaysSo(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(numbered(10)...)
	w.run()
	w.answering = false
	w.to("/b")
	w.run()
	w.named = "/b" // it came to that, and the answer is still on its way
	w.to("/a")
	w.run()
	if in := w.handle.Dir().Path; in != "/a" || w.named != "/a" || w.handle.Future() != nil {
		t.Errorf("the replica is in %s, by the metadata in %s, its copy %+v", in, w.named, w.handle.Future())
	}
	w.answering = true
	w.answer() // late
	w.pass(time.Second)
	w.produce("after it")
	w.run()
	w.acknowledged(true)
}
