package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"troupe/internal/clock"
)

var start = time.Unix(1_700_000_000, 0)

// systems are all implementations, each with an empty directory.
func systems(t *testing.T) map[string]struct {
	fs  FS
	dir string
} {
	crash := NewCrashFS(1, clock.NewManual(start))
	must(t, crash.MkdirAll("/data", 0o755))
	return map[string]struct {
		fs  FS
		dir string
	}{
		"OS":      {OS(), t.TempDir()},
		"CrashFS": {crash, "/data"},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, fsys FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDONLY, 0)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	must(t, f.Close())
	return b
}

func TestAVectorIsWrittenAsOneRunOfBytesWhateverItsParts(t *testing.T) {
	for name, s := range systems(t) {
		t.Run(name, func(t *testing.T) {
			f, err := s.fs.Open(filepath.Join(s.dir, "a"), os.O_RDWR|os.O_CREATE, 0o644)
			must(t, err)
			var bufs [][]byte
			want := make([]byte, 3) // written from 3 on: what lies before reads as zeros
			for i := range 2500 {   // more than one call of the kernel takes
				b := bytes.Repeat([]byte{byte(i)}, i%7)
				bufs, want = append(bufs, b), append(want, b...)
			}
			n, err := f.WriteVectorAt(bufs, 3)
			must(t, err)
			if n != int64(len(want)-3) {
				t.Fatalf("wrote %d bytes, want %d", n, len(want)-3)
			}
			must(t, f.Sync())
			must(t, f.Close())
			if got := content(t, s.fs, filepath.Join(s.dir, "a")); !bytes.Equal(got, want) {
				t.Fatal("the file holds other bytes")
			}
		})
	}
}

func TestFilesAreNamedListedAndRemoved(t *testing.T) {
	for name, s := range systems(t) {
		t.Run(name, func(t *testing.T) {
			at := func(n string) string { return filepath.Join(s.dir, n) }
			must(t, s.fs.MkdirAll(at("d/e"), 0o755))
			must(t, s.fs.MkdirAll(at("d/e"), 0o755))
			f, err := s.fs.Open(at("d/b"), os.O_RDWR|os.O_CREATE, 0o644)
			must(t, err)
			_, err = f.WriteAt([]byte("hello"), 0)
			must(t, err)
			must(t, s.fs.Rename(at("d/b"), at("d/a")))
			must(t, f.Truncate(4)) // a renamed file is still open
			must(t, f.Allocate(1<<16))
			must(t, f.Close())
			must(t, s.fs.SyncDir(at("d")))

			entries, err := s.fs.ReadDir(at("d"))
			must(t, err)
			if len(entries) != 2 || entries[0].Name() != "a" || entries[1].Name() != "e" || !entries[1].IsDir() {
				t.Fatalf("listed %v", entries)
			}
			if info, err := s.fs.Stat(at("d/a")); err != nil || info.Size() != 4 || info.IsDir() {
				t.Fatalf("stat %v, %v", info, err)
			}
			if err := s.fs.Remove(at("d")); err == nil {
				t.Fatal("a directory with files was removed")
			}
			must(t, s.fs.RemoveAll(at("d")))
			must(t, s.fs.RemoveAll(at("d")))
			for _, err := range []error{
				s.fs.Remove(at("d")), s.fs.Rename(at("d"), at("x")),
				second(s.fs.Stat(at("d"))), second(s.fs.ReadDir(at("d"))), second(s.fs.Open(at("d/a"), os.O_RDONLY, 0)),
			} {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("of a file that is gone: %v", err)
				}
			}
			if total, free, err := s.fs.Usage(s.dir); err != nil || total <= 0 || free < 0 || free > total {
				t.Errorf("usage %d of %d, %v", free, total, err)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestALockIsHeldOnceAndEndsWithClose(t *testing.T) {
	for name, s := range systems(t) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(s.dir, ".lock")
			held, err := s.fs.Lock(file)
			must(t, err)
			if _, err := s.fs.Lock(file); !errors.Is(err, ErrLocked) {
				t.Fatalf("the second lock: %v", err)
			}
			must(t, held.Close())
			again, err := s.fs.Lock(file)
			must(t, err)
			must(t, again.Close())
		})
	}
}

func TestWhatWasJustWrittenIsCached(t *testing.T) {
	for name, s := range systems(t) {
		t.Run(name, func(t *testing.T) {
			f, err := s.fs.Open(filepath.Join(s.dir, "a"), os.O_RDWR|os.O_CREATE, 0o644)
			must(t, err)
			_, err = f.WriteAt(make([]byte, 10_000), 0)
			must(t, err)
			p := make([]byte, 10_000)
			if n, cached, err := f.ReadAtCached(p, 0); n != len(p) || !cached || err != nil {
				t.Errorf("read %d bytes, cached %v, %v", n, cached, err)
			}
			if n, _, err := f.ReadAtCached(p, 10_000); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %d bytes, %v", n, err)
			}
			must(t, f.Close())
		})
	}
}

func TestADescriptorOfOneShareIsNotTakenByAnother(t *testing.T) {
	d := NewDescriptors(1000)
	taken := 0
	for d.Take(ShareConnections) {
		taken++
	}
	if used, limit := d.Used(ShareConnections); used != taken || limit != taken {
		t.Errorf("%d taken, but %d of %d are used", taken, used, limit)
	}
	if !d.Take(ShareFiles) || !d.Take(ShareLinks) {
		t.Error("connections took the descriptors of files or links")
	}
	d.Give(ShareConnections)
	if !d.Take(ShareConnections) {
		t.Error("a descriptor given back cannot be taken again")
	}
	sum := 0
	for s := range shares {
		_, limit := d.Used(s)
		sum += limit
	}
	if sum+setAside != 1000 {
		t.Errorf("the shares and what is set aside make %d, not 1000", sum+setAside)
	}
}

func TestTwentyThousandDescriptorsLeaveRoomForTenThousandClients(t *testing.T) {
	d := NewDescriptors(20_000)
	if _, limit := d.Used(ShareConnections); limit < 10_100 {
		t.Errorf("%d connections; want 10,000 and some for tools", limit)
	}
	if _, limit := d.Used(ShareFiles); limit < 5_000 {
		t.Errorf("%d files; want 5,000, so that half of 10,000 replicas keep theirs open", limit)
	}
}

func TestADiskThatFillsUpTakesWhatFits(t *testing.T) {
	c := NewCrashFS(1, clock.NewManual(start))
	f, err := c.Open("a", os.O_RDWR|os.O_CREATE, 0)
	must(t, err)
	c.Fill(10)
	n, err := f.WriteAt(make([]byte, 12), 0)
	if n != 10 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if n, err := f.WriteAt(make([]byte, 5), 2); n != 5 || err != nil {
		t.Fatalf("an overwrite needs no room: %d, %v", n, err)
	}
	c.Fill(-1)
	_, err = f.WriteAt(make([]byte, 12), 0)
	must(t, err)
}

func TestAHookFailsAndShortensCalls(t *testing.T) {
	c := NewCrashFS(1, clock.NewManual(start))
	f, err := c.Open("a", os.O_RDWR|os.O_CREATE, 0)
	must(t, err)
	c.Hook(func(call Call) Fault {
		if call.Op == OpWrite && call.Off == 7 && call.Len == 5 {
			return Fault{Err: syscall.EIO, Bytes: 2}
		}
		return Fault{}
	})
	if n, err := f.WriteAt([]byte("hello"), 7); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	c.Hook(nil)
	if size, _ := f.Size(); size != 9 {
		t.Fatalf("size %d, want 9", size)
	}
}

func TestAnEraLastsWhileThePageCacheAndTheFileDo(t *testing.T) {
	for name, s := range systems(t) {
		t.Run(name, func(t *testing.T) {
			era := func(base string) string {
				e, err := s.fs.Era(filepath.Join(s.dir, base))
				must(t, err)
				return e
			}
			make := func(base string) {
				f, err := s.fs.Open(filepath.Join(s.dir, base), os.O_RDWR|os.O_CREATE, 0o644)
				must(t, errors.Join(err, f.Close()))
			}
			make("a")
			first := era("a")
			if first == "" {
				t.Skip("this machine does not tell eras: Linux 6.8 or later does")
			}
			must(t, s.fs.Rename(filepath.Join(s.dir, "a"), filepath.Join(s.dir, "b")))
			if again := era("b"); again != first {
				t.Fatalf("the era was %q and is %q", first, again)
			}
			make("copy")
			must(t, s.fs.Remove(filepath.Join(s.dir, "b")))
			// The next one may get the number of the one that was removed, and file systems take the time from the kernel's last
			// tick: until that has passed the two cannot be told apart.
			for deadline := time.Now().Add(30 * time.Second); ; {
				make("b")
				if era("b") != first || time.Now().After(deadline) {
					break
				}
				must(t, s.fs.Remove(filepath.Join(s.dir, "b")))
			}
			for _, other := range []string{"copy", "b"} {
				if era(other) == first {
					t.Fatalf("another file, %s, is of the same era %q", other, first)
				}
			}
			if crash, ok := s.fs.(*CrashFS); ok {
				must(t, crash.SyncAll(s.dir))
				before := era("b")
				crash.Crash()
				if after := era("b"); after == before {
					t.Fatalf("after a power cut the era is still %q", after)
				}
			}
		})
	}
}

func TestAFileLongerThanItsReaderAllowsIsNotRead(t *testing.T) {
	for title, fsys := range map[string]FS{"of the system": OS(), "in memory": NewCrashFS(1, clock.NewManual(start))} {
		t.Run(title, func(t *testing.T) {
			dir := t.TempDir()
			if err := fsys.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, "file")
			f, err := fsys.Open(name, os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte("12345"), 0); err != nil {
				t.Fatal(err)
			}
			if data, err := ReadFile(fsys, name, 5); err != nil || string(data) != "12345" {
				t.Errorf("a file of 5 bytes where 5 are allowed: %q, %v", data, err)
			}
			if data, err := ReadFile(fsys, name, 4); !errors.Is(err, ErrTooLarge) || data != nil {
				t.Errorf("a file of 5 bytes where 4 are allowed: %q, %v", data, err)
			}
			if _, err := ReadFile(fsys, name+"s", 4); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file that is not there: %v", err)
			}
		})
	}
}
