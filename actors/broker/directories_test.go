package broker

import (
	"fmt"
	"strings"
	"testing"
)

func TestLogDirectoriesOfOneNameAreServedApart(t *testing.T) {
	n := newNode(t, 1, "log.dirs=/a/data,/b/data")
	n.start()
	names := map[string]bool{}
	for _, a := range n.system.Tree() {
		names[a.Name] = true
	}
	for _, want := range []string{"disks/data/fsync", "disks/data-2/fsync"} {
		if !names[want] {
			t.Errorf("no actor %s", want)
		}
	}
}

func TestLogsOfNoTopicAreSetAsideWithOneLineAndRemembered(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	n.stopClean()
	for i := range 3 {
		if err := n.fs.MkdirAll(fmt.Sprintf("/data/nobodys-%d", i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.start()
	eventually(t, "the logs are set aside with one warning", func() bool {
		return len(n.log.lines("level=WARN")) == 1 && len(n.log.lines("logs=3")) == 1
	})
	n.stopClean()
	entries, err := n.fs.ReadDir("/data")
	kept := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "nobodys-") && strings.HasSuffix(e.Name(), "-stray") {
			kept++
		}
	}
	if err != nil || kept != 3 {
		t.Errorf("%d directories are kept (%v), want 3", kept, err)
	}
	n.start()
	if got := n.log.lines("directories=3"); len(got) != 1 || !strings.Contains(got[0], "level=INFO") {
		t.Errorf("the next start says %q, want one line that reminds of them", got)
	}
	if got := n.log.lines("level=WARN"); len(got) != 1 {
		t.Errorf("it warns again: %q", got)
	}
}
