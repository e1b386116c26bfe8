package replica

import (
	"slices"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// step is one event and what must come of it.
type step struct {
	do        func(m *Machine) Effects
	watermark model.Offset // -1: does not move
	answers   []answer
}

type answer struct {
	index int
	code  kerr.Code
}

var start = time.Unix(1000, 0)

func lead(epoch model.LeaderEpoch, minISR int, end, watermark model.Offset, isr ...model.BrokerID) func(*Machine) Effects {
	return func(m *Machine) Effects {
		return m.Lead(&BecomeLeader{LeaderEpoch: epoch, ISR: isr, Replicas: []model.BrokerID{1, 2, 3}}, minISR, Log{end, end, watermark}, start)
	}
}

// newMachine is broker 1's; nobody else may join an ISR.
func newMachine() *Machine { return NewMachine(1, 30*time.Second, nil) }

func await(index int, next model.Offset, all bool) func(*Machine) Effects {
	return func(m *Machine) Effects {
		return m.Await(Wait{Next: next, Index: index, Deadline: start.Add(time.Duration(index) * time.Second)}, all)
	}
}

func written(end model.Offset) func(*Machine) Effects {
	return func(m *Machine) Effects { return m.Written(end, start) }
}

func TestLeaderScenarios(t *testing.T) {
	const none = model.NoOffset
	for title, steps := range map[string][]step{
		"alone, a leader commits what it has written and answers acks=1 and acks=all at once": {
			{lead(5, 1, 10, 10, 1), none, nil},
			{await(1, 12, false), none, nil},
			{await(2, 14, true), none, nil},
			{written(12), 12, []answer{{1, kerr.None}}},
			{written(14), 14, []answer{{2, kerr.None}}},
		},
		"a new leader commits what its log holds beyond the high watermark when it is alone in the ISR": {
			{lead(5, 1, 10, 7, 1), 10, nil},
		},
		"acks=all waits for the slowest of the ISR while acks=1 does not": {
			{lead(5, 1, 10, 10, 1, 2), none, nil},
			{await(1, 12, false), none, nil},
			{await(2, 12, true), none, nil},
			{written(12), none, []answer{{1, kerr.None}}},
		},
		"the high watermark stands still while the ISR is below min.insync.replicas": {
			{lead(5, 2, 10, 10, 1), none, nil},
			{await(1, 12, false), none, nil},
			{written(12), none, []answer{{1, kerr.None}}},
		},
		"a duplicate of what is committed is answered without waiting for what came after it": {
			{lead(5, 1, 10, 10, 1), none, nil},
			{await(1, 14, true), none, nil},
			{await(2, 10, true), none, []answer{{2, kerr.None}}},
			{written(14), 14, []answer{{1, kerr.None}}},
		},
		"a duplicate of what is still on its way is answered with the original": {
			{lead(5, 1, 10, 10, 1), none, nil},
			{await(1, 14, true), none, nil},
			{await(2, 12, true), none, nil},
			{written(12), 12, []answer{{2, kerr.None}}},
		},
		"who resigns sends all that wait to the next leader": {
			{lead(5, 1, 10, 10, 1, 2), none, nil},
			{await(1, 12, false), none, nil},
			{await(2, 12, true), none, nil},
			{(*Machine).Resign, none, []answer{{1, kerr.NotLeaderOrFollower}, {2, kerr.NotLeaderOrFollower}}},
		},
		"an append whose wait is over is answered with a timeout, later ones go on waiting": {
			{lead(5, 1, 10, 10, 1, 2), none, nil},
			{await(1, 12, true), none, nil},
			{await(2, 13, true), none, nil},
			{func(m *Machine) Effects { return m.Expire(start.Add(time.Second)) }, none, []answer{{1, kerr.RequestTimedOut}}},
		},
		"an order of an older epoch changes nothing": {
			{lead(5, 1, 10, 10, 1, 2), none, nil},
			{lead(4, 1, 10, 10, 1), none, nil},
			{await(1, 12, true), none, nil},
			{written(12), none, nil},
		},
		"an ISR that shrinks to the leader under the same epoch commits what waits": {
			{lead(5, 1, 10, 10, 1, 2), none, nil},
			{await(1, 12, true), none, nil},
			{written(12), none, nil},
			{lead(5, 1, 10, 10, 1), 12, []answer{{1, kerr.None}}},
		},
		"an append that is committed while the ISR is below the minimum is said to be so": {
			{lead(5, 1, 10, 10, 1, 2), none, nil},
			{await(1, 12, true), none, nil},
			{written(12), none, nil},
			{func(m *Machine) Effects {
				return m.FollowerFetched(&FollowerFetch{Replica: 2, Epoch: -1, LeaderEpoch: 5, Offset: 12}, start)
			}, 12, []answer{{1, kerr.None}}},
			{func(m *Machine) Effects { return m.SetMinISR(3, start) }, none, nil},
			{await(2, 12, true), none, []answer{{2, kerr.NotEnoughReplicasAfterAppend}}},
		},
	} {
		t.Run(title, func(t *testing.T) {
			m := newMachine()
			for i, s := range steps {
				e := s.do(m)
				var got []answer
				for _, w := range e.Answers {
					got = append(got, answer{w.Index, w.Result.Code})
				}
				if e.HighWatermark != s.watermark || !slices.Equal(got, s.answers) {
					t.Fatalf("step %d: high watermark %d, answers %v; want %d, %v", i, e.HighWatermark, got, s.watermark, s.answers)
				}
			}
		})
	}
}

func TestAdmission(t *testing.T) {
	m := newMachine()
	if got := m.Admit(false); got != kerr.NotLeaderOrFollower {
		t.Errorf("a replica that does not lead admits: %v", got)
	}
	lead(0, 2, 0, 0, 1)(m)
	if got := m.Admit(true); got != kerr.NotEnoughReplicas {
		t.Errorf("acks=all with an ISR of 1 and min.insync.replicas=2: %v", got)
	}
	if got := m.Admit(false); got != kerr.None {
		t.Errorf("acks=1 with an ISR of 1: %v", got)
	}
	lead(0, 5, 0, 0, 1, 2, 3)(m)
	if got := m.Admit(true); got != kerr.None {
		t.Errorf("min.insync.replicas above the replica count counts as the replica count: %v", got)
	}
}

func TestTheWaitForFollowersBeginsWhenTheLeaderHasWritten(t *testing.T) {
	m := newMachine()
	lead(5, 1, 10, 10, 1, 2)(m)
	await(1, 12, true)(m)
	await(2, 14, true)(m)
	first, second := start.Add(5*time.Millisecond), start.Add(8*time.Millisecond)
	m.Written(12, first)
	m.Written(14, second)
	e := m.FollowerFetched(&FollowerFetch{Replica: 2, Epoch: -1, LeaderEpoch: 5, Offset: 14}, start.Add(20*time.Millisecond))
	if len(e.Answers) != 2 || !e.Answers[0].Written.Equal(first) || !e.Answers[1].Written.Equal(second) {
		t.Errorf("answers: %+v", e.Answers)
	}
	alone := newMachine()
	lead(5, 1, 10, 10, 1)(alone)
	alone.replicas, alone.followers = []model.BrokerID{1}, nil
	await(1, 12, true)(alone)
	if e := alone.Written(12, first); len(e.Answers) != 1 || !e.Answers[0].Written.IsZero() {
		t.Errorf("without followers: %+v", e.Answers)
	}
}
