package checkpoint

import (
	"testing"

	"troupe/internal/clock"
	"troupe/internal/vfs"
)

func TestTheMarkOfAnEraIsReadBackReplacedAndRemoved(t *testing.T) {
	fsys := vfs.NewCrashFS(1, clock.System())
	if err := fsys.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	const name = "/data/" + Era
	expect := func(want string) {
		t.Helper()
		if got, err := ReadEra(fsys, name); err != nil || got != want {
			t.Fatalf("read %q (%v), want %q", got, err, want)
		}
	}
	expect("")
	for _, era := range []string{"kernel a mount 1", "kernel b mount 2"} {
		if err := WriteEra(fsys, name, era); err != nil {
			t.Fatal(err)
		}
		expect(era)
	}
	for range 2 { // one that is gone already is no error
		if err := RemoveEra(fsys, name); err != nil {
			t.Fatal(err)
		}
		expect("")
	}
}
