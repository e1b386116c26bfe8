package checkpoint

import (
	"errors"
	"testing"

	"troupe/internal/clock"
	"troupe/internal/vfs"
)

func TestAMarkLastsUntilThePowerIsCutAndIsWorthNothingInACopy(t *testing.T) {
	fsys := vfs.NewCrashFS(1, clock.System())
	if err := errors.Join(fsys.MkdirAll("/data", 0o755), fsys.MkdirAll("/copy", 0o755)); err != nil {
		t.Fatal(err)
	}
	const name, copied = "/data/" + Era, "/copy/" + Era
	expect := func(name string, want bool) {
		t.Helper()
		if got, err := EraLasts(fsys, name); err != nil || got != want {
			t.Fatalf("the mark %s lasts: %v (%v), want %v", name, got, err, want)
		}
	}
	note := func() {
		t.Helper()
		if err := NoteEra(fsys, name); err != nil {
			t.Fatal(err)
		}
		expect(name, true)
	}
	expect(name, false)
	note()
	data, err := read(fsys, name)
	if err == nil {
		err = writeNew(fsys, copied, data, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	expect(copied, false)
	if err := fsys.SyncAll("/"); err != nil {
		t.Fatal(err)
	}
	fsys.Crash()
	expect(name, false)
	note()
	note()
	for range 2 { // one that is gone already is no error
		if err := RemoveEra(fsys, name); err != nil {
			t.Fatal(err)
		}
		expect(name, false)
	}
}
