package replica

import (
	"fmt"
	"testing"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// leader is broker 1's machine for a partition of brokers 1, 2 and 3, with the brokers that the metadata knows as active.
type leader struct {
	*Machine
	now    time.Time
	active map[model.BrokerID]model.BrokerEpoch
}

// replica.lag.time.max.ms of these scenarios.
const lag = 30 * time.Second

func newLeader() *leader {
	l := &leader{now: start, active: map[model.BrokerID]model.BrokerEpoch{1: 101, 2: 102, 3: 103}}
	l.Machine = NewMachine(1, lag, func(id model.BrokerID, epoch model.BrokerEpoch) bool {
		known, active := l.active[id]
		return active && (epoch == -1 || epoch == known)
	})
	return l
}

// leads begins, or goes on with, epoch 5; the log ends at 10 and all of it is committed.
func leads(epoch model.PartitionEpoch, isr ...model.BrokerID) func(*leader) Effects {
	return func(l *leader) Effects {
		order := &BecomeLeader{LeaderEpoch: 5, PartitionEpoch: epoch, ISR: isr, Replicas: []model.BrokerID{1, 2, 3}}
		return l.Lead(order, 2, Log{10, 10, 10}, l.now)
	}
}

func ends(end model.Offset) func(*leader) Effects {
	return func(l *leader) Effects { return l.Written(end, l.now) }
}

// fetches has a follower fetch from an offset, by the process that is registered.
func fetches(id model.BrokerID, offset model.Offset) func(*leader) Effects {
	return fetchesAs(id, 100+model.BrokerEpoch(id), 5, offset)
}

func fetchesAs(id model.BrokerID, process model.BrokerEpoch, epoch model.LeaderEpoch, offset model.Offset) func(*leader) Effects {
	return func(l *leader) Effects {
		return l.FollowerFetched(&FollowerFetch{Replica: id, Epoch: process, LeaderEpoch: epoch, Offset: offset}, l.now)
	}
}

// passes lets time go by, and the round of replica.lag.time.max.ms come.
func passes(d time.Duration) func(*leader) Effects {
	return func(l *leader) Effects {
		l.now = l.now.Add(d)
		return l.Tick(l.now)
	}
}

// becomes changes what the metadata says of a broker; 0 is fenced.
func becomes(id model.BrokerID, epoch model.BrokerEpoch) func(*leader) Effects {
	return func(l *leader) Effects {
		l.active[id] = epoch
		if epoch == 0 {
			delete(l.active, id)
		}
		return l.Tick(l.now)
	}
}

// answered is the controller's answer to the proposal made on a partition epoch.
func answered(on model.PartitionEpoch, code kerr.Code, isr ...model.BrokerID) func(*leader) Effects {
	return func(l *leader) Effects {
		a := &Altered{Asked: Proposal{LeaderEpoch: 5, PartitionEpoch: on}, Code: code}
		if code == kerr.None {
			a.LeaderEpoch, a.PartitionEpoch, a.ISR = 5, on+1, isr
		}
		return l.Altered(a, l.now)
	}
}

func TestInSyncScenarios(t *testing.T) {
	const none = model.NoOffset
	type step struct {
		do        func(*leader) Effects
		watermark model.Offset // -1: does not move
		proposal  string       // partition epoch, then members with their broker epochs; "" for none
	}
	for title, steps := range map[string][]step{
		"the high watermark is the least log end of the ISR": {
			{leads(7, 1, 2, 3), none, ""},
			{fetches(2, 10), none, ""}, {fetches(3, 10), none, ""},
			{ends(20), none, ""},
			{fetches(2, 20), none, ""},
			{fetches(3, 15), 15, ""},
			{fetches(3, 20), 20, ""},
		},
		"a member that has not fetched under this epoch holds it": {
			{leads(7, 1, 2, 3), none, ""},
			{ends(20), none, ""},
			{fetches(2, 20), none, ""},
			{fetches(3, 11), 11, ""},
		},
		"a follower that cannot keep up leaves; who is behind for less than the limit stays": {
			{leads(7, 1, 2, 3), none, ""},
			{fetches(2, 10), none, ""}, {fetches(3, 10), none, ""},
			{ends(20), none, ""},
			{fetches(2, 20), none, ""},
			{passes(lag), none, ""},
			{passes(time.Second), none, "7 1/-1 2/102"},
			{answered(7, kerr.None, 1, 2), 20, ""},
		},
		"an uncommitted shrink does not move the high watermark": {
			{leads(7, 1, 2, 3), none, ""},
			{fetches(2, 10), none, ""},
			{ends(20), none, ""},
			{passes(lag + time.Second), none, "7 1/-1"},
			{fetches(2, 20), none, ""},
			{fetches(3, 12), 12, ""},
		},
		"a follower that is always one fetch behind a busy leader stays in sync": {
			{leads(7, 1, 2, 3), none, ""},
			{fetches(2, 10), none, ""}, {fetches(3, 10), none, ""},
			{ends(20), none, ""},
			{passes(14 * time.Second), none, ""},
			{fetches(2, 15), none, ""}, {fetches(3, 15), 15, ""},
			{ends(30), none, ""},
			{passes(14 * time.Second), none, ""},
			// 20 was the end at the fetch before, 14 s ago: from then on they lag.
			{fetches(2, 25), none, ""}, {fetches(3, 25), 25, ""},
			{passes(16 * time.Second), none, ""},
			{passes(time.Second), none, "7 1/-1"},
		},
		"one that has had all until now may lag from now on": {
			{leads(7, 1, 2, 3), none, ""},
			{fetches(2, 10), none, ""}, {fetches(3, 10), none, ""},
			{passes(time.Hour), none, ""},
			{ends(20), none, ""},
			{passes(lag), none, ""},
			{passes(time.Second), none, "7 1/-1"},
		},
		"who has come to the high watermark and the start of the epoch joins, and counts from the proposal on": {
			{leads(7, 1, 2), none, ""},
			{fetches(2, 10), none, ""},
			{ends(20), none, ""},
			{fetches(3, 9), none, ""},
			{fetches(3, 10), none, "7 1/-1 2/102 3/103"},
			{fetches(2, 20), none, ""},
			{fetches(3, 15), 15, ""},
			{answered(7, kerr.None, 1, 2, 3), none, ""},
			{fetches(3, 20), 20, ""},
		},
		"an end before the start of the leader's epoch is not enough, though the high watermark is behind": {
			{func(l *leader) Effects {
				return l.Lead(&BecomeLeader{LeaderEpoch: 5, PartitionEpoch: 7, ISR: []model.BrokerID{1, 2}, Replicas: []model.BrokerID{1, 2, 3}}, 2, Log{10, 10, 6}, l.now)
			}, none, ""},
			{fetches(3, 8), none, ""},
			{fetches(3, 10), none, "7 1/-1 2/-1 3/103"},
		},
		"a fenced broker does not join, and does when it is let in again": {
			{leads(7, 1, 2), none, ""},
			{becomes(3, 0), none, ""},
			{fetches(3, 10), none, ""},
			{becomes(3, 103), none, "7 1/-1 2/-1 3/103"},
		},
		"another process of a broker than the one that is registered does not join": {
			{leads(7, 1, 2), none, ""},
			{fetchesAs(3, 99, 5, 10), none, ""},
			{becomes(3, 99), none, "7 1/-1 2/-1 3/99"},
		},
		"the high watermark waits for a caught up replica that may join, and no longer than it is caught up": {
			{leads(7, 1, 2), none, ""},
			{fetches(2, 10), none, ""},
			{fetches(3, 10), none, "7 1/-1 2/102 3/103"},
			{answered(7, kerr.IneligibleReplica), none, ""},
			{ends(20), none, ""},
			{fetches(2, 20), none, "7 1/-1 2/102 3/103"},
			{answered(7, kerr.IneligibleReplica), none, ""},
			{becomes(3, 0), 20, ""},
		},
		"an earlier process of a follower, another epoch and a stranger say nothing": {
			{leads(7, 1, 2, 3), none, ""},
			{ends(20), none, ""},
			{fetches(2, 20), none, ""}, {fetches(3, 12), 12, ""},
			{fetchesAs(3, 90, 5, 20), none, ""},
			{fetchesAs(3, 103, 4, 20), none, ""},
			{fetchesAs(3, 103, 6, 20), none, ""},
			{fetches(4, 20), none, ""},
			{fetches(3, 20), 20, ""},
		},
		"one proposal is open at a time, and the next follows its answer": {
			{leads(7, 1), none, ""},
			{fetches(2, 10), none, "7 1/-1 2/102"},
			{fetches(3, 10), none, ""},
			{answered(7, kerr.None, 1, 2), none, "8 1/-1 2/102 3/103"},
			{answered(7, kerr.None, 1, 2), none, ""},
			{answered(8, kerr.None, 1, 2, 3), none, ""},
		},
		"a proposal that was overtaken stays open until the metadata tells what became of it": {
			{leads(7, 1, 2), none, ""},
			{fetches(2, 10), none, ""}, {fetches(3, 10), none, "7 1/-1 2/102 3/103"},
			{answered(7, kerr.InvalidUpdateVersion), none, ""},
			{ends(20), none, ""}, {fetches(2, 20), none, ""},
			{fetches(3, 13), 13, ""},
			{passes(time.Second), none, ""},
			{leads(8, 1, 2), none, "8 1/-1 2/102 3/103"},
		},
		"a fenced leader asks for nothing more": {
			{leads(7, 1, 2), none, ""},
			{fetches(3, 10), none, "7 1/-1 2/-1 3/103"},
			{answered(7, kerr.FencedLeaderEpoch), none, ""},
			{passes(time.Hour), none, ""},
		},
		"nor does one whose topic is unknown, or that a reassignment put out": {
			{leads(7, 1, 2), none, ""},
			{fetches(3, 10), none, "7 1/-1 2/-1 3/103"},
			{answered(7, kerr.NewLeaderElected), none, ""},
			{passes(time.Hour), none, ""},
			{answered(7, kerr.UnknownTopicID), none, ""},
			{passes(time.Hour), none, ""},
		},
		"what no controller has answered is asked again, and counts meanwhile": {
			{leads(7, 1, 2), none, ""},
			{fetches(2, 10), none, ""}, {fetches(3, 10), none, "7 1/-1 2/102 3/103"},
			{answered(7, kerr.NotController), none, ""},
			{ends(20), none, "" /* asked again by the round */}, {passes(time.Second), none, "7 1/-1 2/102 3/103"},
			{fetches(2, 20), none, ""},
			{fetches(3, 17), 17, ""},
		},
		"metadata older than the controller's answer does not bring the old ISR back": {
			{leads(7, 1, 2), none, ""},
			{fetches(2, 10), none, ""}, {fetches(3, 10), none, "7 1/-1 2/102 3/103"},
			{answered(7, kerr.None, 1, 2, 3), none, ""},
			{leads(7, 1, 2), none, ""},
			{ends(20), none, ""}, {fetches(2, 20), none, ""},
			{fetches(3, 11), 11, ""},
		},
		"the high watermark stands still below the minimum until the ISR is committed, not proposed": {
			{leads(7, 1), none, ""},
			{ends(20), none, ""},
			{fetches(2, 20), none, "7 1/-1 2/102"},
			{answered(7, kerr.None, 1, 2), 20, ""},
		},
	} {
		t.Run(title, func(t *testing.T) {
			l := newLeader()
			for i, s := range steps {
				e := s.do(l)
				if got := said(e.Propose); e.HighWatermark != s.watermark || got != s.proposal {
					t.Fatalf("step %d: high watermark %d, proposal %q; want %d, %q", i, e.HighWatermark, got, s.watermark, s.proposal)
				}
			}
		})
	}
}

func said(p *Proposal) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprint(p.PartitionEpoch)
	for _, m := range p.ISR {
		text += fmt.Sprintf(" %d/%d", m.ID, m.Epoch)
	}
	return text
}

// The check before an append goes by the committed ISR, the one after it by the maximal one (facts/replication.md 4).
func TestAProposedMemberCountsAfterAnAppendAndNotBefore(t *testing.T) {
	l := newLeader()
	leads(7, 1)(l)
	fetches(2, 10)(l)
	if got := l.Admit(true); got != kerr.NotEnoughReplicas {
		t.Errorf("with an expansion proposed, before the append: %s", got.Name())
	}
	e := await(1, 10, true)(l.Machine)
	if len(e.Answers) != 1 || e.Answers[0].Result.Code != kerr.None {
		t.Errorf("with an expansion proposed, after it: %v", e.Answers)
	}
	answered(7, kerr.IneligibleReplica)(l)
	e = await(2, 10, true)(l.Machine)
	if len(e.Answers) != 1 || e.Answers[0].Result.Code != kerr.NotEnoughReplicasAfterAppend {
		t.Errorf("with the expansion refused, after it: %v", e.Answers)
	}
}

// Kafka's rules for a follower whose log is not the leader's (facts/replication.md 5).
func TestAFollowerCutsItsLogWhereItMayPartFromTheLeaders(t *testing.T) {
	// This log: epoch 2 from 10, epoch 4 from 25, epoch 7 from 40 to 55.
	history := standing{start: 5, end: 55, epochEnd: func(e model.LeaderEpoch) (model.LeaderEpoch, model.Offset) {
		switch {
		case e > 7:
			return -1, -1
		case e == 7:
			return 7, 55
		case e >= 4:
			return 4, 40
		case e >= 2:
			return 2, 25
		}
		return e, 10
	}}
	for title, c := range map[string]struct {
		fetched Fetched
		do      next
		at      model.Offset
	}{
		"what follows is taken":                            {Fetched{Offset: 55}, takeIn, -1},
		"what does not is asked for anew":                  {Fetched{Offset: 54}, askAgain, -1},
		"the leader has less of the epoch":                 {Fetched{Offset: 55, Diverging: &EpochEnd{7, 50}}, cutBack, 50},
		"the leader has more of an older one":              {Fetched{Offset: 55, Diverging: &EpochEnd{4, 45}}, cutBack, 40},
		"the leader has less of an older one":              {Fetched{Offset: 55, Diverging: &EpochEnd{4, 30}}, cutBack, 30},
		"the leader's epoch wrote nothing here":            {Fetched{Offset: 55, Diverging: &EpochEnd{5, 50}}, cutBack, 40},
		"the leader's epoch is before all that is here":    {Fetched{Offset: 55, Diverging: &EpochEnd{1, 9}}, cutBack, 9},
		"the logs parted before this one begins":           {Fetched{Offset: 55, Diverging: &EpochEnd{1, 3}}, beginAt, 3},
		"the leader's log ends before":                     {Fetched{Offset: 55, OutOfRange: true, LogStart: 0, LogEnd: 30}, cutBack, 30},
		"the leader's log ends before this one begins":     {Fetched{Offset: 55, OutOfRange: true, LogStart: 0, LogEnd: 4}, beginAt, 4},
		"the leader's log begins after":                    {Fetched{Offset: 55, OutOfRange: true, LogStart: 60, LogEnd: 70}, beginAt, 60},
		"the leader's log has come to hold it meanwhile":   {Fetched{Offset: 55, OutOfRange: true, LogStart: 50, LogEnd: 70}, askAgain, -1},
		"the leader's high watermark does not cut the log": {Fetched{Offset: 55, HighWatermark: 20}, takeIn, -1},
	} {
		t.Run(title, func(t *testing.T) {
			if do, at := c.fetched.judge(history); do != c.do || at != c.at {
				t.Errorf("does %d at %d, want %d at %d", do, at, c.do, c.at)
			}
		})
	}
}

func TestWhatAFollowerSaidLastIsKeptWhateverComesLate(t *testing.T) {
	latest := FollowerFetch{Replica: 2, Epoch: 20, LeaderEpoch: 7, Offset: 100}
	for title, late := range map[string]FollowerFetch{
		"of a leader epoch before":  {Replica: 2, Epoch: 20, LeaderEpoch: 6, Offset: 90},
		"of the process before":     {Replica: 2, Epoch: 19, LeaderEpoch: 7, Offset: 90},
		"of another follower, also": {Replica: 3, Epoch: 4, LeaderEpoch: 7, Offset: 90},
	} {
		d := &durable{}
		d.heard(&latest)
		d.heard(&late)
		if d.followers[0] != latest {
			t.Errorf("%s: %+v is kept", title, d.followers[0])
		}
	}
}
