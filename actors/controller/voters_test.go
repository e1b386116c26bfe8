package controller

import (
	"slices"
	"strings"
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
			w.until("the one that was removed follows it", time.Second, func() bool {
				s := lead.board.Status()
				return s.Leader == next.id && !s.Votes
			})
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

func TestANodeTellsThatItLosesItsVoteAndThatItGetsOne(t *testing.T) {
	w := newDynamicWorld(t, 1, 3)
	lead, other := w.leaderAndAnother()
	var log heard
	other.kill(false)
	other.log = log.log()
	other.start()
	w.same()
	w.register(other)
	log.Reset()
	answer := lead.remove(other)
	w.until("the removal is answered", 3*time.Second, func() bool { return len(answer) > 0 })
	w.until("it gets another vote", 10*time.Second, func() bool { return w.allVote(other) })
	got := strings.Split(strings.TrimSpace(log.String()), "\n")
	got = slices.DeleteFunc(got, func(line string) bool { return strings.Contains(line, "no vote yet") }) // it may ask too early
	want := []string{`msg="this node has no vote any more" voters=2`, `msg="this node has a vote now" voters=3`}
	if !slices.Equal(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// It follows the log from its files anew, and what it had sent to the leader is under way there.
func TestAVoterThatIsAskedForItsOwnRemovalAnswers(t *testing.T) {
	for seed := range uint64(6) {
		w := newDynamicWorld(t, seed, 3, func(c *configs.Broker) { c.Quorum.AutoJoin = false })
		_, gone := w.leaderAndAnother()
		removal, topic := gone.remove(gone), gone.create("meanwhile")
		w.until("both are answered", 3*time.Second, func() bool { return len(removal) > 0 && len(topic) > 0 })
		if code := kerr.Code((<-removal).(*kmsg.RemoveRaftVoterResponse).ErrorCode); code != kerr.None {
			t.Errorf("seed %d: the removal is answered by %s", seed, code.Name())
		}
		if code := w.created(topic, 0); code != 0 {
			t.Errorf("seed %d: the topic is answered by code %d", seed, code)
		}
		w.same()
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

// Nobody sends the log to a node that has no vote, so one that was away when it lost it would ask for votes for ever.
func TestAVoterThatWasCutOffWhenItWasRemovedLearnsOfIt(t *testing.T) {
	for seed := range uint64(6) {
		w := newDynamicWorld(t, seed, 3)
		lead, away := w.leaderAndAnother()
		w.isolate(away)
		w.run(time.Second)
		answer := lead.remove(away)
		w.until("the removal is answered", 3*time.Second, func() bool { return len(answer) > 0 })
		clear(w.cut)
		w.until("it follows without a vote, and gets another", 10*time.Second, func() bool { return w.allVote(away) })
		w.same()
	}
}

// Two followers may have committed what the leader is still writing. One that lost its vote by that follows the leader, whose
// own log is the shorter one then.
func TestAVoterThatIsRemovedByASlowLeaderKeepsWhatItAcknowledged(t *testing.T) {
	for seed := range uint64(6) {
		w := newDynamicWorld(t, seed, 3)
		lead, gone := w.leaderAndAnother()
		lead.slow = 80 * time.Millisecond
		answer := lead.remove(gone)
		w.until("the removal is answered", 3*time.Second, func() bool { return len(answer) > 0 })
		lead.slow = 0
		w.until("it gets another vote", 10*time.Second, func() bool { return w.allVote(gone) })
		w.same()
	}
}

// leaderAndAnother registers all nodes with the leader.
func (w *world) leaderAndAnother() (lead, other *node) {
	w.t.Helper()
	lead = w.elected(2 * time.Second)
	for _, n := range w.nodes {
		w.register(n)
		if n != lead {
			other = n
		}
	}
	return lead, other
}

// allVote tells that the leader counts every node among the voters, and that one of them knows.
func (w *world) allVote(n *node) bool {
	lead := w.leader()
	return lead != nil && lead.board.Status().Voters == len(w.nodes) && n.board.Status().Votes
}

// A controller that does not know a level would end at its record. One that is gone stays registered, as in Kafka.
func TestALevelIsAskedOfTheControllersThatThereAre(t *testing.T) {
	w := newDynamicWorld(t, 1, 3, func(c *configs.Broker) { c.Quorum.AutoJoin = false })
	lead := w.elected(2 * time.Second)
	old := w.besides(lead)
	w.register(old) // its process is the one that the others are connected to
	register := kmsg.NewPtrControllerRegistrationRequest()
	register.ControllerID, register.IncarnationID = int32(old.id), old.incarnation()
	answered := old.ask(register)
	w.until("the controller is registered", time.Second, func() bool { return len(answered) > 0 })
	if code := kerr.Code((<-answered).(*kmsg.ControllerRegistrationResponse).ErrorCode); code != kerr.None {
		t.Fatalf("its registration is answered by %s", code.Name())
	}
	upgrade := func(level int16) kerr.Code {
		t.Helper()
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version = 2
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = "group.version", level, 2-int8(level)
		req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{u}
		answer := lead.ask(req)
		w.until("the level is answered", time.Second, func() bool { return len(answer) > 0 })
		return kerr.Code((<-answer).(*kmsg.UpdateFeaturesResponse).ErrorCode)
	}
	if code := upgrade(0); code != kerr.None {
		t.Fatalf("the level that all know is answered by %s", code.Name())
	}
	if code := upgrade(1); code != kerr.InvalidUpdateVersion {
		t.Errorf("a level that a voter does not know is answered by %s", code.Name())
	}
	old.kill(true)
	lead = w.elected(2 * time.Second)
	removal := lead.remove(old)
	w.until("the voter is removed", 3*time.Second, func() bool { return len(removal) > 0 })
	if code := upgrade(1); code != kerr.None {
		t.Errorf("with that voter gone it is answered by %s", code.Name())
	}
}
