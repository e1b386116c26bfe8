package controller

import (
	"fmt"
	"testing"
	"time"

	"troupe/codec/batch"
	"troupe/configs"
	"troupe/internal/model"
)

func TestABrokerThatDoesNotVoteFollowsTheQuorumFromLeaderToLeader(t *testing.T) {
	for seed := range uint64(5) {
		w := newWorld(t, seed, 3, func(c *configs.Broker) { c.Metadata.SnapshotBytes = 1000 })
		lead := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		for i := range 10 {
			if code := w.created(lead.create(fmt.Sprint("early-", i)), time.Second); code != 0 {
				t.Fatalf("code %d", code)
			}
		}
		w.run(2 * time.Second) // checkpoints are written, and the log is shortened
		o := w.add(4)
		o.observes = true
		o.start()
		w.same()
		w.register(o)
		if code := w.created(o.create("asked-of-the-observer"), time.Second); code != 0 {
			t.Errorf("code %d", code)
		}
		if s := o.board.Status(); s.Votes || s.Leader != lead.id {
			t.Errorf("the observer's status is %+v", s)
		}
		lead.kill(true)
		w.until("another one leads", time.Second, func() bool { return w.leader() != nil })
		if code := w.created(o.create("after"), 2*time.Second); code != 0 {
			t.Errorf("code %d", code)
		}
		w.same()
		o.kill(true)
		o.start()
		w.same()
		if n := len(o.names()); n != 12 {
			t.Errorf("%d topics after a crash, want 12", n)
		}
	}
}

// It has met one controller, which leads or does not, and is told where the leader is.
func TestANodeThatHasMetOneControllerFindsTheLeader(t *testing.T) {
	for seed := range uint64(3) {
		w := emptyWorld(t, seed, 3)
		for _, v := range w.voters {
			w.first = append(w.first, batch.Voter{ID: v.ID, DirectoryID: model.DirectoryID{15: byte(v.ID)}, MostKRaftVersion: 1,
				Endpoints: []batch.VoterEndpoint{{Host: v.Endpoint.Host, Port: v.Endpoint.Port}}})
		}
		w.start()
		w.elected(2 * time.Second)
		w.seeds = w.first[seed : seed+1]
		o := w.add(4)
		o.observes, o.strange, o.joined = true, true, true
		o.start()
		w.same()
		w.register(o)
		if code := w.created(o.create("asked-of-the-observer"), time.Second); code != 0 {
			t.Errorf("seed %d: code %d", seed, code)
		}
	}
}

func TestAWipedDiskComesBackAsANewVoterAndTheOldOneIsRemoved(t *testing.T) {
	for seed := range uint64(5) {
		w := newDynamicWorld(t, seed, 3)
		lead := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		if code := w.created(lead.create("kept"), time.Second); code != 0 {
			t.Fatalf("code %d", code)
		}
		wiped := w.nodes[int(seed)%3]
		wiped.kill(true)
		w.elected(2 * time.Second)
		w.run(100 * time.Millisecond) // the dead broker is fenced
		wiped.fs.Wipe()
		wiped.disks, wiped.joined = 1, true
		wiped.start()
		w.run(3 * time.Second)
		if wiped.board.Status().Votes || w.elected(time.Second).board.Status().Voters != 3 {
			t.Error("a process that is not registered takes the vote of the one that is")
		}
		w.register(wiped)
		w.until("the wiped node votes", 10*time.Second, func() bool { return wiped.board.Status().Votes })
		lead = w.elected(2 * time.Second)
		w.same()
		if s := lead.board.Status(); s.Voters != 3 {
			t.Errorf("%d voters, want 3", s.Voters)
		}
		// It counts now: with another one dead, nothing is committed without it.
		for _, n := range w.nodes {
			if n != wiped {
				n.kill(true)
				break
			}
		}
		w.elected(3 * time.Second)
		w.same()
		wiped.kill(true)
		wiped.start()
		w.elected(3 * time.Second)
		w.same()
	}
}
