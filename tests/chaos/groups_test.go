//go:build unix

package chaos

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"troupe/actors/coordinator"
	"troupe/tests/node"
)

// groupSettings keep a restart of the group short.
var groupSettings = []string{"group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=5"}

func TestGroupsGoOnWhereTheyWereAfterKills(t *testing.T) {
	chance := dice(t)
	broker := node.Start(t, node.Options{Set: groupSettings})
	load := Trickle(t, broker.Bootstrap)
	readers := ReadInGroup(t, load, "g", 3)
	for range rounds(t) {
		readers.Await(1 + chance.IntN(50))
		after(time.Duration(chance.IntN(300)) * time.Millisecond)
		broker.Kill()
		broker.Restart()
	}
	readers.Await(50)
	load.Stop()
	load.Verify()
	readers.Verify()
}

// Members that come and go while the broker is killed: it meets the group in every state of a rebalance.
func TestAKillInTheMiddleOfARebalanceHangsNobody(t *testing.T) {
	chance := dice(t)
	broker := node.Start(t, node.Options{Set: groupSettings})
	load := Trickle(t, broker.Bootstrap)
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

// Twenty consumers commit while the coordinators of their groups panic in turns, ten times a round, and now and then the
// supervisor of all of them. A coordinator that panics too often is given up for some seconds: its group waits.
func TestPanicsOfCoordinatorsAreNotNoticedByGroups(t *testing.T) {
	const many, each = 10, 2
	chance := dice(t)
	broker := node.Start(t, node.Options{Set: []string{"test.panics=true", "group.initial.rebalance.delay.ms=0"}})
	load := Trickle(t, broker.Bootstrap)
	var groups []*Readers
	for i := range many {
		groups = append(groups, ReadInGroup(t, load, fmt.Sprint("g", i), each))
	}
	for _, g := range groups {
		g.AwaitCommits(1)
	}
	var coordinators []string
	for _, g := range groups {
		coordinators = append(coordinators, fmt.Sprint("groups/", coordinator.PartitionFor(g.group, 50)))
	}
	for i := range many * rounds(t) {
		name, g := coordinators[i%many], groups[i%many]
		if chance.IntN(20) == 0 {
			name = "groups"
		}
		panicNext(t, broker.Admin, name)
		if chance.IntN(2) == 0 { // else the next one panics while this one loads
			g.AwaitCommits(2)
		}
	}
	for _, g := range groups {
		g.AwaitCommits(10)
	}
	if n := restartsOf(t, broker.Admin, "group"); n < many {
		t.Errorf("coordinators were restarted %d times: nothing is tested", n)
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

// restartsOf counts the restarts of all actors of a kind, also of those that are gone.
func restartsOf(t *testing.T, admin, kind string) (n int) {
	t.Helper()
	resp, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, `troupe_actor_restarts_total{kind="`+kind+`"} %d`, &n); err == nil {
			return n
		}
	}
	t.Fatalf("no metric counts the restarts of %s", kind)
	return 0
}
