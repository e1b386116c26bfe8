package broker

import (
	"os"
	"testing"
	"time"
)

func TestWhatAPowerCutLeftToCheckIsToldAKillLeavesNothingButTornWritesAndACleanStopNothing(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.call(produceRequest("a", -1, records(nil, time.Now(), "one"))); err != nil {
		t.Fatal(err)
	}
	n.abort()
	n.start()
	if got, want := n.Opened(), (Opened{Logs: 1}); got != want {
		t.Errorf("after a kill %+v, want %+v", got, want)
	}
	n.abort()
	f, err := n.fs.Open("/data/a-0/00000000000000000000.log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("torn"), size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	n.start()
	if got, want := n.Opened(), (Opened{Logs: 1, TruncatedBytes: 4}); got != want {
		t.Errorf("after a kill in the midst of a write %+v, want %+v", got, want)
	}
	n.abort()
	if err := n.fs.SyncAll("/data"); err != nil { // so that there is something left to check
		t.Fatal(err)
	}
	n.fs.Crash()
	n.start()
	if got, want := n.Opened(), (Opened{Logs: 1, ScannedBytes: size}); got != want {
		t.Errorf("after a power cut %+v, want %+v", got, want)
	}
	n.stopClean()
	n.start()
	if got, want := n.Opened(), (Opened{Logs: 1}); got != want {
		t.Errorf("after a clean stop %+v, want %+v", got, want)
	}
}
