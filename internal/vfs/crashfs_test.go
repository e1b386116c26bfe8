package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"

	"troupe/internal/clock"
)

// crashed runs a scenario on many seeds and cuts the power at its end.
func crashed(t *testing.T, scenario func(*CrashFS), check func(*CrashFS)) {
	for seed := range uint64(200) {
		c := NewCrashFS(seed, clock.NewManual(start))
		scenario(c)
		c.Crash()
		check(c)
	}
}

func write(t *testing.T, c *CrashFS, name, text string, off int64) File {
	t.Helper()
	f, err := c.Open(name, os.O_RDWR|os.O_CREATE, 0)
	must(t, err)
	_, err = f.WriteAt([]byte(text), off)
	must(t, err)
	return f
}

func TestWhatWasSyncedSurvivesAPowerCut(t *testing.T) {
	crashed(t, func(c *CrashFS) {
		f := write(t, c, "a", "hello", 0)
		must(t, f.Sync())
		must(t, c.SyncDir("/"))
		write(t, c, "a", " world", 5)
	}, func(c *CrashFS) {
		if got := content(t, c, "a"); !bytes.HasPrefix(got, []byte("hello")) {
			t.Fatalf("left %q", got)
		}
	})
}

func TestASyncOfAllCoversBytesAndNamesInEveryDirectory(t *testing.T) {
	crashed(t, func(c *CrashFS) {
		must(t, c.MkdirAll("/d/e", 0))
		write(t, c, "/d/e/a", "hello", 0)
		write(t, c, "/old", "moved", 0)
		must(t, c.Rename("/old", "/d/new"))
		must(t, c.SyncAll("/d"))
		write(t, c, "/d/e/a", " world", 5)
	}, func(c *CrashFS) {
		if got := content(t, c, "/d/e/a"); !bytes.HasPrefix(got, []byte("hello")) {
			t.Fatalf("left %q", got)
		}
		if got := content(t, c, "/d/new"); string(got) != "moved" {
			t.Fatalf("the renamed file holds %q", got)
		}
	})
}

func TestUnsyncedWritesSurviveAsATornPrefixOrWithHoles(t *testing.T) {
	lengths := map[int]bool{}
	holes := 0
	crashed(t, func(c *CrashFS) {
		f := write(t, c, "a", "", 0)
		must(t, f.Sync())
		must(t, c.SyncDir("/"))
		for i := range 4 {
			write(t, c, "a", string(bytes.Repeat([]byte{'x'}, 1000)), int64(i)*1000)
		}
	}, func(c *CrashFS) {
		got := content(t, c, "a")
		lengths[len(got)] = true
		if bytes.IndexByte(got, 0) >= 0 {
			holes++
		}
	})
	if len(lengths) < 20 || holes == 0 || holes > 100 {
		t.Fatalf("%d different lengths, %d of 200 with holes", len(lengths), holes)
	}
}

func TestANameIsSafeOnlyOnceItsDirectoryIsSynced(t *testing.T) {
	kept, lost := 0, 0
	crashed(t, func(c *CrashFS) {
		must(t, c.MkdirAll("d", 0))
		must(t, c.SyncDir("/"))
		must(t, write(t, c, "d/old", "old", 0).Sync())
		must(t, c.SyncDir("d"))
		must(t, write(t, c, "d/new", "new", 0).Sync())
		must(t, c.Rename("d/new", "d/old"))
	}, func(c *CrashFS) {
		switch got := content(t, c, "d/old"); string(got) {
		case "new":
			kept++
			if _, err := c.Stat("d/new"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatal("half of the rename survived")
			}
		case "old":
			lost++
		default:
			t.Fatalf("left %q", got)
		}
	})
	if kept == 0 || lost == 0 {
		t.Fatalf("the rename was kept %d times and lost %d times", kept, lost)
	}
}

func TestHandlesAndLocksEndWithThePower(t *testing.T) {
	c := NewCrashFS(1, clock.NewManual(start))
	f := write(t, c, "a", "hello", 0)
	_, err := c.Lock(".lock")
	must(t, err)
	c.CutAfter(2)
	must(t, f.Sync())
	if err := c.SyncDir("/"); !errors.Is(err, ErrPowerOff) {
		t.Fatalf("the second call: %v", err)
	}
	if _, err := c.Stat("a"); !errors.Is(err, ErrPowerOff) {
		t.Fatalf("after the cut: %v", err)
	}
	c.Crash()
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("a handle of before the cut still writes")
	}
	_, err = c.Lock(".lock")
	must(t, err)
}

func TestAProcessThatEndsLeavesWhatItWroteAndHoldsNothing(t *testing.T) {
	c := NewCrashFS(1, clock.NewManual(start))
	f := write(t, c, "a", "hello", 0)
	_, err := c.Lock(".lock")
	must(t, err)
	era, err := c.Era("a")
	must(t, err)
	c.Exit()
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("a handle of the process that ended still writes")
	}
	_, err = c.Lock(".lock")
	must(t, err)
	if got := content(t, c, "a"); string(got) != "hello" {
		t.Fatalf("left %q", got)
	}
	if now, err := c.Era("a"); err != nil || now != era {
		t.Fatalf("the era was %q and is %q, %v: the page cache lives on", era, now, err)
	}
}
