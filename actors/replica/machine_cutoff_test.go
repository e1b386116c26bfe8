package replica

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// sessionOf is broker.session.timeout.ms of these scenarios.
const sessionOf = 2 * time.Second

// looks has the leader judge whether it is cut off.
func looks(held bool) func(*leader) Effects {
	return func(l *leader) Effects { return l.Hold(held, sessionOf, l.now) }
}

// later lets time go by.
func later(d time.Duration) func(*leader) Effects {
	return func(l *leader) Effects {
		l.now = l.now.Add(d)
		return Effects{HighWatermark: model.NoOffset}
	}
}

// sends has a producer wait with acks=all, or a coordinator, whose index is 90 and more.
func sends(index int, next model.Offset) func(*leader) Effects {
	return func(l *leader) Effects {
		return l.Await(Wait{Next: next, Index: index, Patient: index >= 90, Deadline: l.now.Add(time.Hour)}, true)
	}
}

func TestALeaderThatIsCutOffKeepsNoProducerWaiting(t *testing.T) {
	for title, steps := range map[string][]struct {
		do      func(*leader) Effects
		cutOff  bool
		answers string
	}{
		"when the session is over and a member has lacked something for so long": {
			{leads(7, 1, 2, 3), false, ""}, {fetches(2, 10), false, ""}, {fetches(3, 10), false, ""},
			{sends(1, 20), false, ""}, {ends(20), false, ""}, {fetches(2, 20), false, ""},
			{later(sessionOf - 1), false, ""}, {looks(false), false, ""},
			{later(1), false, ""}, {looks(true), false, ""},
			{looks(false), true, "1 NOT_LEADER_OR_FOLLOWER"},
		},
		"what was written before is committed later, and nothing is answered twice": {
			{leads(7, 1, 2, 3), false, ""},
			{sends(1, 20), false, ""}, {ends(20), false, ""}, {later(sessionOf), false, ""},
			{looks(false), true, "1 NOT_LEADER_OR_FOLLOWER"},
			{fetches(2, 20), false, ""}, {fetches(3, 20), false, ""},
			{sends(2, 20), false, "2 NONE"},
		},
		"a coordinator, which answers its clients itself, waits as long as it leads": {
			{leads(7, 1, 2, 3), false, ""},
			{sends(90, 15), false, ""}, {sends(1, 20), false, ""}, {ends(20), false, ""}, {later(sessionOf), false, ""},
			{looks(false), true, "1 NOT_LEADER_OR_FOLLOWER"},
			{fetches(2, 20), false, ""}, {fetches(3, 20), false, "90 NONE"},
		},
		"a broker that has no controller, but all of its followers, leads on": {
			{leads(7, 1, 2, 3), false, ""}, {fetches(2, 10), false, ""}, {fetches(3, 10), false, ""},
			{later(time.Hour), false, ""}, {looks(false), false, ""},
			{sends(1, 20), false, ""}, {ends(20), false, ""}, {looks(false), false, ""},
			{fetches(2, 20), false, ""}, {fetches(3, 20), false, "1 NONE"},
		},
		"who is not in the ISR is not waited for": {
			{leads(7, 1, 2), false, ""}, {sends(1, 20), false, ""}, {ends(20), false, ""}, {later(sessionOf), false, ""},
			{fetches(2, 20), false, "1 NONE"}, {looks(false), false, ""},
		},
		"a member that has said nothing under this leader counts from when it began to lead": {
			{leads(7, 1, 2, 3), false, ""}, {ends(20), false, ""}, {later(sessionOf - 1), false, ""}, {looks(false), false, ""},
			{later(1), false, ""}, {looks(false), true, ""},
		},
		"when the session goes on the leader does": {
			{leads(7, 1, 2, 3), false, ""}, {ends(20), false, ""}, {later(sessionOf), false, ""}, {looks(false), true, ""},
			{looks(true), false, ""},
		},
		"whoever leads no more is not cut off": {
			{leads(7, 1, 2, 3), false, ""}, {ends(20), false, ""}, {later(sessionOf), false, ""}, {looks(false), true, ""},
			{func(l *leader) Effects { return l.Resign() }, false, ""}, {looks(false), false, ""},
		},
		"nor is who leads the next epoch": {
			{leads(7, 1, 2, 3), false, ""}, {ends(20), false, ""}, {later(sessionOf), false, ""}, {looks(false), true, ""},
			{func(l *leader) Effects {
				return l.Lead(&BecomeLeader{LeaderEpoch: 6, PartitionEpoch: 8, ISR: []model.BrokerID{1, 2}, Replicas: []model.BrokerID{1, 2, 3}}, 2, Log{20, 20, 10}, l.now)
			}, false, ""},
		},
	} {
		t.Run(title, func(t *testing.T) {
			l := newLeader()
			for i, s := range steps {
				var answers []string
				for _, w := range s.do(l).Answers {
					answers = append(answers, fmt.Sprint(w.Index, " ", w.Result.Code.Name()))
				}
				if got := strings.Join(answers, ", "); l.CutOff() != s.cutOff || got != s.answers {
					t.Fatalf("step %d: cut off %v, answers %q; want %v, %q", i, l.CutOff(), got, s.cutOff, s.answers)
				}
			}
		})
	}
}

func TestABrokerWithoutASessionSendsProducersAwayUntilItHasOneAgain(t *testing.T) {
	w := newWorld(t, 1)
	held := true
	w.deps.Held, w.deps.Session = func(time.Time) bool { return held }, sessionOf
	s := w.sink(w.host(1, true, config(), 2))
	w.run()
	s.append(true, time.Hour)
	w.run()
	w.expectEvents()
	held = false
	w.clock.Advance(sessionOf)
	w.shard.Send(&RecheckAll{})
	w.run()
	w.expectEvents("append 0: NOT_LEADER_OR_FOLLOWER at -1")
	s.append(true, time.Hour)
	s.append(false, time.Hour)
	w.run()
	w.expectEvents("append 1: NOT_LEADER_OR_FOLLOWER at -1", "append 2: NONE at 1")
	if r := s.answers[1][0]; !r.Refused {
		t.Error("what is not in the log is not said to be refused")
	}
	held = true
	w.shard.Send(&RecheckAll{})
	w.run()
	s.append(true, time.Second)
	w.run()
	w.expectEvents()
	w.clock.Advance(time.Second)
	w.run()
	w.expectEvents("append 3: " + kerr.RequestTimedOut.Name() + " at -1")
}
