package move

import (
	"slices"
	"testing"
	"time"
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
