package localcluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestALogIsFollowedByWholeLinesFromItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("of the run before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := openTail(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	out, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, c := range []struct {
		written string
		want    []string
	}{
		{"", nil},
		{"one\ntwo\nth", []string{"one", "two"}},
		{"ree\n\n", []string{"three", ""}},
	} {
		if _, err := out.WriteString(c.written); err != nil {
			t.Fatal(err)
		}
		if got, err := log.lines(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("after %q: %q, %v, want %q", c.written, got, err, c.want)
		}
	}
}
