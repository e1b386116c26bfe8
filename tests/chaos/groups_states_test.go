//go:build unix

package chaos

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// stateAims are the states that a group is killed in, each with what brings it there.
var stateAims = []struct {
	state string
	// toward changes the membership; undo makes up for it after the restart.
	toward func(r *Readers, members []func()) (undo func())
}{
	{"Stable", func(*Readers, []func()) func() { return func() {} }},
	{"PreparingRebalance", oneMore},
	{"CompletingRebalance", oneMore},
	{"Empty", allLeave},
}

// oneMore begins a rebalance, which goes through both states.
func oneMore(r *Readers, _ []func()) func() { return r.Join() }

// allLeave sends LeaveGroup for each member: a group empties by that, or by the sessions' ends.
func allLeave(r *Readers, members []func()) func() {
	for _, leave := range members {
		leave()
	}
	return func() {
		for i := range members {
			members[i] = r.Join()
		}
	}
}

// The broker is killed as soon as it says that the group is in the state; the members find it again, and go on.
func TestAKillInAnyStateOfAGroupHangsNobody(t *testing.T) {
	for _, aim := range stateAims {
		t.Run(aim.state, func(t *testing.T) {
			broker := node.Start(t, node.Options{Set: groupSettings})
			load := Trickle(t, broker.Bootstrap)
			readers := ReadInGroup(t, load, "g", 0)
			members := []func(){readers.Join(), readers.Join()}
			for range rounds(t) {
				readers.AwaitCommits(5)
				undos := []func(){aim.toward(readers, members)}
				awaitState(t, broker.Bootstrap, "g", aim.state, func() {
					if aim.state != "Empty" { // which lasts
						undos = append(undos, aim.toward(readers, members))
					}
				})
				undo := func() {
					for _, each := range undos {
						each()
					}
				}
				broker.Kill()
				broker.Restart()
				if aim.state == "Empty" {
					undo()
					readers.AwaitCommits(5)
					continue
				}
				readers.AwaitCommits(5)
				undo()
			}
			load.Stop()
			load.Verify()
			readers.Verify()
		})
	}
}

// awaitState asks without a pause: a state may last some milliseconds. On a busy machine it may be over before it was seen;
// so again brings it about once more, every few seconds.
func awaitState(t *testing.T, address, group, state string, again func()) {
	t.Helper()
	late := time.NewTicker(5 * time.Second)
	defer late.Stop()
	conn := wire.Dial(t, address)
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	wire.Versioned(req, 5)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if wire.On[*kmsg.DescribeGroupsResponse](conn, req).Groups[0].State == state {
			return
		}
		select {
		case <-late.C:
			again()
		default:
		}
	}
	t.Fatalf("group %s does not come to %s", group, state)
}
