package broker

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"troupe/actors/disk"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
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

func TestADirectoryThatWasCopiedWhileItWasWrittenToIsChecked(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.call(produceRequest("a", -1, records(nil, time.Now(), "one"))); err != nil {
		t.Fatal(err)
	}
	copyTree(t, n.fs, "/data", "/copy")
	n.abort()
	n.set = append(n.set, "log.dirs=/copy")
	n.start()
	if got := n.Opened(); got.Logs != 1 || got.ScannedBytes == 0 {
		t.Errorf("the copy was opened as %+v, without a check", got)
	}
	// It has a mark of its own by now.
	n.abort()
	n.start()
	if got, want := n.Opened(), (Opened{Logs: 1}); got != want {
		t.Errorf("after a kill %+v, want %+v", got, want)
	}
}

func copyTree(t *testing.T, fsys vfs.FS, from, to string) {
	t.Helper()
	entries, err := fsys.ReadDir(from)
	if err == nil {
		err = fsys.MkdirAll(to, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		from, to := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			copyTree(t, fsys, from, to)
			continue
		}
		in, err := fsys.Open(from, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		size, sizeErr := in.Size()
		out, err := fsys.Open(to, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		content := make([]byte, size)
		_, readErr := in.ReadAt(content, 0)
		_, writeErr := out.WriteAt(content, 0)
		if err := errors.Join(sizeErr, readErr, writeErr, in.Close(), out.Close()); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}

func TestADirectoryThatFailedWhileItsLogsWereOpenedBearsNoMark(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	mark := filepath.Join("/data", checkpoint.Era)
	gone := func() bool {
		_, err := n.fs.Stat(mark)
		return errors.Is(err, fs.ErrNotExist)
	}
	if gone() {
		t.Fatal("the start left no mark")
	}
	failed := &disk.Task{Name: "fail", Do: func() error { return syscall.EIO }, Done: func(error) {}}
	n.dirs[0].Lane(disk.Fsync).Send(failed)
	eventually(t, "the mark is removed", gone)
	n.directories[0].kept = false
	n.noteEras() // as if the start had come to it now
	if !gone() {
		t.Error("the directory bears a mark again")
	}
}

// A disk that fails refuses the removal of the mark, too.
func TestTheMarkOfADirectoryThatFailedGoesWhenItsDiskComesBack(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	if _, err := n.fs.Stat(filepath.Join("/data", checkpoint.Era)); err != nil {
		t.Fatal(err)
	}
	fails(n, vfs.Fault{Err: syscall.EIO}, func(vfs.Call) bool { return true })
	failed := &disk.Task{Name: "fail", Do: func() error { return syscall.EIO }, Done: func(error) {}}
	n.dirs[0].Lane(disk.Fsync).Send(failed)
	<-n.Failed()
	n.fs.Hook(nil)
	n.abort()
	if _, err := n.fs.Stat(filepath.Join("/data", checkpoint.Era)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the mark is there when the process has ended: %v", err)
	}
}
