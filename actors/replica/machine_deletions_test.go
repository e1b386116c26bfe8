package replica

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// begins has a follower, in sync at 10, say where its log begins.
func begins(id model.BrokerID, at model.Offset) func(*leader) Effects {
	return func(l *leader) Effects {
		return l.FollowerFetched(&FollowerFetch{Replica: id, Epoch: 100 + model.BrokerEpoch(id), LeaderEpoch: 5, Offset: 10, LogStart: at}, l.now)
	}
}

// deletes asks for a deletion that may wait for ten seconds, and is done in the leader's log.
func deletes(upTo model.Offset) func(*leader) Effects {
	return func(l *leader) Effects {
		return l.AwaitDeletion(Deletion{UpTo: upTo, Deadline: l.now.Add(10 * time.Second)}, upTo, l.now)
	}
}

// asks is deletes before the checkpoint knows of the new log start; notes is when it does.
func asks(upTo model.Offset) func(*leader) Effects {
	return func(l *leader) Effects {
		return l.AwaitDeletion(Deletion{UpTo: upTo, Deadline: l.now.Add(10 * time.Second)}, 0, l.now)
	}
}

func notes(start model.Offset) func(*leader) Effects {
	return func(l *leader) Effects { return l.StartNoted(start, l.now) }
}

func resigns(l *leader) Effects { return l.Resign() }

func TestADeletionWaitsForTheLogStartsOfLiveFollowers(t *testing.T) {
	type step struct {
		do   func(*leader) Effects
		over []string // "up to: low watermark, code"
	}
	for title, steps := range map[string][]step{
		"all have deleted": {
			{deletes(4), nil}, {begins(2, 4), nil}, {begins(3, 4), []string{"4: 4 NONE"}},
		},
		"the low watermark is that of the follower that is behind the others": {
			{begins(2, 9), nil}, {begins(3, 7), nil}, {deletes(6), []string{"6: 6 NONE"}}, {deletes(9), nil},
			{begins(3, 8), nil}, {begins(3, 9), []string{"9: 9 NONE"}},
		},
		"each waits for its own offset": {
			{begins(2, 9), nil}, {deletes(5), nil}, {deletes(8), nil},
			{begins(3, 6), []string{"5: 6 NONE"}}, {begins(3, 8), []string{"8: 8 NONE"}},
		},
		"a broker that is fenced is not waited for": {
			{deletes(4), nil}, {begins(2, 4), nil}, {becomes(3, 0), []string{"4: 4 NONE"}},
		},
		"a follower that has not fetched yet is waited for": {
			{deletes(0), nil}, {begins(2, 0), nil}, {begins(3, 0), []string{"0: 0 NONE"}},
		},
		"one that takes too long is told how far the followers are": {
			{begins(2, 4), nil}, {begins(3, 1), nil}, {deletes(4), nil}, {passes(10 * time.Second), []string{"4: 1 REQUEST_TIMED_OUT"}},
			{begins(3, 4), nil},
		},
		"the leader's own log start has to be durable too": {
			{begins(2, 4), nil}, {begins(3, 4), nil}, {asks(4), nil}, {notes(3), nil}, {notes(4), []string{"4: 4 NONE"}},
		},
		"a leader that resigns sends the client to the next": {
			{deletes(4), nil}, {resigns, []string{"4: -1 NOT_LEADER_OR_FOLLOWER"}}, {resigns, nil},
		},
	} {
		t.Run(title, func(t *testing.T) {
			l := newLeader()
			leads(7, 1, 2, 3)(l)
			for i, s := range steps {
				var over []string
				for _, d := range s.do(l).Deleted {
					over = append(over, fmt.Sprintf("%d: %d %s", d.UpTo, d.Low, d.Code.Name()))
				}
				if !slices.Equal(over, s.over) {
					t.Fatalf("step %d: over are %q, want %q", i, over, s.over)
				}
			}
		})
	}
}

func TestTheLowWatermarkOfALeaderAloneIsItsLogStart(t *testing.T) {
	m := newMachine()
	m.Lead(&BecomeLeader{LeaderEpoch: 5, ISR: []model.BrokerID{1}, Replicas: []model.BrokerID{1}}, 1, Log{10, 10, 10}, start)
	e := m.AwaitDeletion(Deletion{UpTo: 6}, 6, start)
	if len(e.Deleted) != 1 || e.Deleted[0].Low != 6 || e.Deleted[0].Code != kerr.None {
		t.Errorf("over are %+v", e.Deleted)
	}
}
