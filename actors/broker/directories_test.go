package broker

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
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

// inTwo leaves a stopped node whose partition power-0 holds a record, with a copy of its log in the other directory.
func inTwo(t *testing.T) (n *node, served, other string) {
	t.Helper()
	n = newNode(t, 1, "log.dirs=/a,/b")
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, powerTopic, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.call(produceRequest(powerTopic, -1, records(nil, time.Now(), "one"))); err != nil {
		t.Fatal(err)
	}
	n.stopClean()
	served, other = "/a/power-0", "/b/power-0"
	if _, err := n.fs.Stat(served); err != nil {
		served, other = other, served
	}
	copyTree(t, n.fs, served, other)
	return n, served, other
}

func TestALogThatStandsInTwoDirectoriesEndsTheStart(t *testing.T) {
	n, served, other := inTwo(t)
	err := n.tryStart()
	for _, says := range []string{"power-0", filepath.Dir(served), filepath.Dir(other)} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if err := n.fs.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	n.start()
}

// A deletion that a crash cut short leaves a log behind, and the topic that comes after may be in another directory.
func TestOfTwoTopicsOfOneNameTheLogIsServedThatTheMetadataKnows(t *testing.T) {
	for _, swapped := range []bool{false, true} { // whichever directory is read first
		n, first, second := inTwo(t)
		other := second
		if swapped {
			other = first
		}
		if err := checkpoint.WriteTopicID(n.fs, filepath.Join(other, checkpoint.PartitionMetadata), model.TopicID{9}); err != nil {
			t.Fatal(err)
		}
		n.start()
		log, err := fetchAll(dial(t, n.address()), powerTopic, 0)
		if err != nil || len(log) != 1 || log[0] != "one" {
			t.Errorf("swapped %v: the log has %q, %v", swapped, log, err)
		}
		eventually(t, "the other is set aside", func() bool {
			_, err := n.fs.Stat(other)
			return err != nil && len(n.log.lines("belong to no topic were set aside")) == 1
		})
		n.stopClean()
	}
}
