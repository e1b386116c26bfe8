package replica

import (
	"slices"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Proposal is another ISR that a leader asks the controller for (AlterPartition, facts/replication.md 6).
type Proposal struct {
	LeaderEpoch    model.LeaderEpoch
	PartitionEpoch model.PartitionEpoch // that it is made on
	ISR            []Member
	Expands        bool // the ISR that it is made on
}

// Member is a member of an ISR with the broker epoch that it fetched under: another process of that broker may not have what
// this one had (KIP-903). -1 is the leader itself, and a member that has not fetched under this leader.
type Member struct {
	ID    model.BrokerID
	Epoch model.BrokerEpoch
}

// Altered is the controller's answer to a Proposal, named by the epochs that the proposal had.
type Altered struct {
	Asked Proposal
	Code  kerr.Code
	// Of a success: the state that was committed.
	LeaderEpoch    model.LeaderEpoch
	PartitionEpoch model.PartitionEpoch
	ISR            []model.BrokerID
}

// proposal is a Proposal that may be committed or not.
type proposal struct {
	Proposal
	isr  []model.BrokerID
	sent bool // false once an attempt came to nothing: it is tried again
}

// maximal is the ISR with everybody in it who may be in the committed one by now.
func (m *Machine) maximal() []model.BrokerID {
	if m.proposed != nil && m.proposed.Expands {
		return m.proposed.isr
	}
	return m.isr
}

// propose gives the next proposal, nil for none: an expansion by the follower that has just fetched, and by those that have
// caught up and could not join until now.
func (m *Machine) propose(now time.Time, fetched *follower) *Proposal {
	switch p := m.proposed; {
	case !m.leading || len(m.followers) == 0:
		return nil
	case p != nil && p.sent:
		return nil
	case p != nil:
		p.sent = true
		return &p.Proposal
	}
	isr := m.isr
	for i := range m.followers {
		f := &m.followers[i]
		if !slices.Contains(isr, f.id) && (f == fetched || m.caughtUp(f, now)) && m.mayJoin(f) {
			isr = append(slices.Clip(isr), f.id)
		}
	}
	if len(isr) == len(m.isr) {
		return nil
	}
	return m.open(isr)
}

// mayJoin asks for the high watermark and for the start of this leader's epoch: a log that ends before it may still hold what
// this leader never had.
func (m *Machine) mayJoin(f *follower) bool {
	return f.end >= m.highWatermark && f.end >= m.epochStart && m.eligible(f.id, f.epoch)
}

// open takes over isr, and puts it in the order in which Kafka's leaders name theirs, which people see in descriptions.
func (m *Machine) open(isr []model.BrokerID) *Proposal {
	slices.Sort(isr)
	p := &proposal{isr: isr, sent: true}
	p.Expands = len(isr) > len(m.isr)
	p.LeaderEpoch, p.PartitionEpoch = m.leaderEpoch, m.partitionEpoch
	for _, id := range isr {
		member := Member{id, -1}
		if f := m.follower(id); f != nil {
			member.Epoch = f.epoch
		}
		p.ISR = append(p.ISR, member)
	}
	m.proposed = p
	return &p.Proposal
}

// Tick drops members that have lagged for too long, tries again what came to nothing, and lets the high watermark pass who
// was waited for in vain. It is due every half of replica.lag.time.max.ms, and when brokers come, go or change their state.
func (m *Machine) Tick(now time.Time) Effects {
	proposal := m.propose(now, nil)
	if proposal == nil && m.leading && m.proposed == nil {
		proposal = m.shrink(now)
	}
	e := m.advance(now)
	e.Propose, e.Deleted = proposal, m.deleted(now)
	return e
}

func (m *Machine) shrink(now time.Time) *Proposal {
	isr := slices.DeleteFunc(slices.Clone(m.isr), func(id model.BrokerID) bool {
		f := m.follower(id)
		return f != nil && !m.caughtUp(f, now)
	})
	if len(isr) == len(m.isr) {
		return nil
	}
	return m.open(isr)
}

// Altered takes the controller's answer. A refusal that is sure not to have been committed gives the proposal up. What says
// that this leader acts on an old state leaves it open: the metadata that this broker is about to apply tells what became of
// it. Everything else is no answer, and the same is asked again.
func (m *Machine) Altered(a *Altered, now time.Time) Effects {
	if p := m.proposed; p == nil || p.LeaderEpoch != a.Asked.LeaderEpoch || p.PartitionEpoch != a.Asked.PartitionEpoch {
		return Effects{HighWatermark: model.NoOffset} // the metadata came first
	}
	switch a.Code {
	case kerr.None:
		if a.LeaderEpoch != m.leaderEpoch || a.PartitionEpoch < m.partitionEpoch {
			return Effects{HighWatermark: model.NoOffset}
		}
		m.isr, m.partitionEpoch, m.proposed = a.ISR, a.PartitionEpoch, nil
		e := m.advance(now) // first, since who left is not to be taken in again for standing where it stood
		e.Propose = m.propose(now, nil)
		return e
	case kerr.IneligibleReplica, kerr.OperationNotAttempted:
		m.proposed = nil // not asked again at once: the controller knows of a broker what is not applied here yet
		return m.advance(now)
	case kerr.FencedLeaderEpoch, kerr.InvalidUpdateVersion, kerr.NewLeaderElected, kerr.UnknownTopicID,
		kerr.UnknownTopicOrPartition, kerr.InvalidRequest:
	default:
		m.proposed.sent = false
	}
	return Effects{HighWatermark: model.NoOffset}
}
