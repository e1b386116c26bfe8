package broker

import "testing"

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
