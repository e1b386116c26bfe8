//go:build unix

package chaos

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"troupe/tests/node"
)

// groupSettings keep a restart of the group short.
var groupSettings = []string{"group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=5"}

func TestGroupsGoOnWhereTheyWereAfterKills(t *testing.T) {
	chance := dice(t)
	broker := node.Start(t, node.Options{Set: groupSettings})
	load := Start(t, broker.Bootstrap, 2, nil)
	readers := ReadInGroup(t, load, "g", 3)
	for range rounds(t) {
		readers.Await(1 + chance.IntN(500))
		after(time.Duration(chance.IntN(300)) * time.Millisecond)
		broker.Kill()
		broker.Restart()
	}
	readers.Await(500)
	load.Stop()
	load.Verify()
	readers.Verify()
}

// Members that come and go while the broker is killed: it meets the group in every state of a rebalance.
func TestAKillInTheMiddleOfARebalanceHangsNobody(t *testing.T) {
	chance := dice(t)
	broker := node.Start(t, node.Options{Set: groupSettings})
	load := Start(t, broker.Bootstrap, 1, nil)
	readers := ReadInGroup(t, load, "g", 2)
	for range rounds(t) {
		readers.Await(10)
		leave := readers.Join()
		after(time.Duration(chance.IntN(100)) * time.Millisecond)
		broker.Kill()
		broker.Restart()
		readers.Await(10)
		leave()
	}
	load.Stop()
	load.Verify()
	readers.Verify()
}

func TestPanicsOfCoordinatorsAreNotNoticedByGroups(t *testing.T) {
	broker := node.Start(t, node.Options{Set: append([]string{"test.panics=true"}, groupSettings...)})
	load := Start(t, broker.Bootstrap, 1, nil)
	var groups []*Readers
	for i := range 4 {
		groups = append(groups, ReadInGroup(t, load, fmt.Sprint("g", i), 2))
	}
	for _, g := range groups {
		g.Await(10)
	}
	for _, kind := range []string{"group", "groups", "group"} {
		var named []string
		for _, a := range tree(t, broker.Admin) {
			if a.Kind == kind {
				panicNext(t, broker.Admin, a.Name)
				named = append(named, a.Name)
			}
		}
		for _, g := range groups {
			g.Await(100)
		}
		if kind == "group" && !slices.ContainsFunc(named, func(name string) bool { return restarts(t, broker.Admin, name) > 0 }) {
			t.Errorf("none of %v was restarted", named)
		}
	}
	load.Stop()
	load.Verify()
	for _, g := range groups {
		g.Verify()
	}
	if !broker.Running() {
		t.Error("the broker ended")
	}
}
