package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/peer"
	"troupe/cluster/quorum"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/model"
)

// remove asks a node to take the vote of another.
func (n *node) remove(v *node) <-chan kmsg.Response {
	req := kmsg.NewPtrRemoveRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID = int32(v.id), v.dir.ID
	return n.ask(req)
}

func TestALeaderThatIsRemovedIsFollowedByAVoterThatIsLeft(t *testing.T) {
	for _, voters := range []int{2, 3} {
		for seed := range uint64(6) {
			w := newDynamicWorld(t, seed, voters, func(c *configs.Broker) { c.Quorum.AutoJoin = false })
			lead := w.elected(2 * time.Second)
			for _, n := range w.nodes {
				w.register(n)
			}
			asked := w.nodes[seed%2] // the leader, or one that has to ask it
			answer := asked.remove(lead)
			w.until("the removal is answered", 3*time.Second, func() bool { return len(answer) > 0 })
			if code := kerr.Code((<-answer).(*kmsg.RemoveRaftVoterResponse).ErrorCode); code != kerr.None {
				t.Errorf("%d voters, seed %d: the removal is answered by %s", voters, seed, code.Name())
			}
			w.until("one that is left leads", 3*time.Second, func() bool { return w.leader() != nil && w.leader() != lead })
			next := w.leader()
			if code := w.created(lead.create("after"), 2*time.Second); code != 0 {
				t.Errorf("%d voters, seed %d: code %d", voters, seed, code)
			}
			w.same()
			if s := next.board.Status(); s.Voters != voters-1 || lead.board.Status().Votes {
				t.Errorf("%d voters, seed %d: the next leader is %+v", voters, seed, s)
			}
			next.kill(true)
			next.start()
			w.elected(3 * time.Second) // without the vote of the one that has none
			w.same()
		}
	}
}

func TestAVoterThatNobodyHasHeardOfIsNotRemembered(t *testing.T) {
	var c copies
	if c.fresh(quorum.VoterKey{ID: 7, Directory: model.DirectoryID{1}}, time.Unix(1000, 0)) || len(c.list) > 0 {
		t.Errorf("it is among %d copies", len(c.list))
	}
}

func TestWhatTheLaneHasDoneForATermThatIsOverChangesNothing(t *testing.T) {
	r := &round{}
	a := &Actor{term: &term{writing: r, ended: true}}
	a.wrote(nil, &written{round: r}) // its log is closed
}

func TestANodeThatEndsWhileTheFilesAreReadIsNotForgotten(t *testing.T) {
	a := &Actor{term: &term{}, deps: Deps{Config: &configs.Broker{NodeID: 1}}}
	a.linkDown(nil, &peer.Down{ID: 2, Link: peer.Controller, Refused: true})
	if !slices.Equal(a.absent.ids, []model.BrokerID{2}) {
		t.Errorf("%v are taken for gone", a.absent.ids)
	}
}
