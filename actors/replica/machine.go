package replica

import (
	"time"

	"troupe/codec/kerr"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// Machine decides for one leading replica: whether an append is taken, where the high watermark stands, which producers
// may be answered, and who is in sync. The log's offsets come in as events; nothing here touches the log.
//
// Invariants, kept by the methods here and relied on by every reader:
//
//  1. While one replica leads, its high watermark never moves back.
//  2. The high watermark is at most the log end offset of each member of the maximal ISR, the leader's own end counting
//     only what its flush policy calls written.
//  3. It does not move while the ISR is smaller than the effective min.insync.replicas (KIP-966).
//  4. Each wait is answered once: acks=1 when the log end offset has reached it, acks=all when the high watermark has.
//  5. One proposal of another ISR is open at a time. Until it is known to be refused or replaced it may be committed:
//     who it adds counts at once, who it drops counts until it is committed (maximal).
type Machine struct {
	self           model.BrokerID
	lagMax         time.Duration // replica.lag.time.max.ms
	eligible       Eligible
	leading        bool
	leaderEpoch    model.LeaderEpoch
	partitionEpoch model.PartitionEpoch
	isr            []model.BrokerID // committed by the controller
	replicas       []model.BrokerID
	minISR         int
	followers      []follower // the replicas but this one
	proposed       *proposal  // nil when none is open
	cutOff         bool       // as of the last look (machine_cutoff.go)

	logEnd        model.Offset // written by the leader, by its flush policy
	epochStart    model.Offset // of the leader epoch
	highWatermark model.Offset

	logStart  model.Offset // as of the last deletion
	deletions []Deletion
	written   waitQueue // acks=1, by log end offset
	committed waitQueue // acks=all, by high watermark
	released  []Wait    // the answers of the last release, whose room is used again
}

// Wait is an append that was staged and not answered yet.
type Wait struct {
	Next     model.Offset // the offset after its last record
	Deadline time.Time    // of acks=all
	Written  time.Time    // when the leader had written it, of acks=all where there are followers
	Patient  bool         // waits for the followers as long as the leadership lasts
	Result   AppendResult
	Sink     AppendSink
	Index    int
}

// Effects are what the shell does after an event, in the order of the fields.
type Effects struct {
	// HighWatermark is set on the log and published before any of Answers is given, so that a producer that was
	// answered reads its own write. -1 when it did not move.
	HighWatermark model.Offset
	// Answers are given to their sinks. They are good until the next event.
	Answers []Wait
	// Deleted are answered likewise.
	Deleted []Deleted
	// Propose asks the controller for another ISR; its answer comes back as Altered.
	Propose *Proposal
}

// Eligible tells, by the metadata that this broker has applied, whether a broker may be in the ISR: it is registered with that
// epoch (-1: with any), neither fenced nor stopping, and the directory of its replica has not failed.
type Eligible func(id model.BrokerID, epoch model.BrokerEpoch) bool

// NewMachine starts as a replica that leads nothing.
func NewMachine(self model.BrokerID, lagMax time.Duration, eligible Eligible) *Machine {
	if eligible == nil {
		eligible = func(model.BrokerID, model.BrokerEpoch) bool { return false }
	}
	return &Machine{self: self, lagMax: lagMax, eligible: eligible, leaderEpoch: model.NoLeaderEpoch}
}

// Log is where the log of a replica that begins to lead stands.
type Log struct {
	End           model.Offset // written, by the flush policy
	Staged        model.Offset // where the leader's epoch begins: at the end of what is written or on its way
	HighWatermark model.Offset
}

// Lead takes over at an epoch with the log as it stands. The same epoch again brings an ISR or replicas that the controller
// has committed since; an order that is older than what is known changes nothing.
func (m *Machine) Lead(b *BecomeLeader, minISR int, log Log, now time.Time) Effects {
	if b.LeaderEpoch < m.leaderEpoch || b.LeaderEpoch == m.leaderEpoch && m.leading && b.PartitionEpoch < m.partitionEpoch {
		return Effects{HighWatermark: model.NoOffset}
	}
	if !m.leading || b.LeaderEpoch > m.leaderEpoch {
		m.leading, m.leaderEpoch, m.partitionEpoch = true, b.LeaderEpoch, b.PartitionEpoch
		m.logEnd, m.epochStart, m.highWatermark = log.End, log.Staged, log.HighWatermark
		m.followers, m.proposed, m.cutOff = nil, nil, false
	}
	if b.PartitionEpoch > m.partitionEpoch {
		m.proposed = nil // committed, or overtaken by this
	}
	m.partitionEpoch, m.minISR = b.PartitionEpoch, minISR
	m.isr, m.replicas = b.ISR, b.Replicas
	m.assign(now)
	e := m.advance(now)
	e.Propose, e.Deleted = m.propose(now, nil), m.deleted(now)
	return e
}

// Resign ends the leadership: every waiting producer is sent to look for the new leader.
func (m *Machine) Resign() Effects {
	m.leading, m.proposed, m.cutOff = false, nil, false
	e := Effects{HighWatermark: model.NoOffset, Deleted: m.abandonDeletions()}
	for _, q := range []*waitQueue{&m.written, &m.committed} {
		for _, w := range q.takeAll() {
			e.Answers = append(e.Answers, m.sentAway(w, kerr.NotLeaderOrFollower))
		}
	}
	return e
}

// SetMinISR follows a change of min.insync.replicas.
func (m *Machine) SetMinISR(n int, now time.Time) Effects {
	m.minISR = n
	return m.advance(now)
}

// Leading tells the epoch that this replica leads at.
func (m *Machine) Leading() (model.LeaderEpoch, bool) { return m.leaderEpoch, m.leading }

// Replicated tells that this replica leads others.
func (m *Machine) Replicated() bool { return m.leading && len(m.followers) > 0 }

// HighWatermark is the offset before which all records are committed.
func (m *Machine) HighWatermark() model.Offset { return m.highWatermark }

// Admit says whether an append may be staged now (facts/replication.md 4).
func (m *Machine) Admit(allAcks bool) kerr.Code {
	switch {
	case !m.leading:
		return kerr.NotLeaderOrFollower
	case allAcks && len(m.isr) < m.effectiveMinISR():
		return kerr.NotEnoughReplicas
	default:
		return kerr.None
	}
}

// Await keeps the producer of a staged append waiting; a duplicate of what is already there is answered at once.
func (m *Machine) Await(w Wait, allAcks bool) Effects {
	if allAcks {
		m.committed.add(w)
	} else {
		m.written.add(w)
	}
	return m.release()
}

// Written tells how far the leader's own log is written, by its flush policy.
func (m *Machine) Written(end model.Offset, now time.Time) Effects {
	if end < m.logEnd { // asked here, since the arguments below allocate
		invariant.Check(false, "log end offset moved back from %d to %d", m.logEnd, end)
	}
	m.overtake(end, now)
	if len(m.followers) > 0 {
		m.committed.written(m.logEnd, end, now)
	}
	m.logEnd = end
	return m.advance(now)
}

// Expire answers the appends whose wait for the high watermark took too long; their records stay in the log.
func (m *Machine) Expire(now time.Time) Effects {
	e := Effects{HighWatermark: model.NoOffset}
	for _, w := range m.committed.takeDue(now) {
		e.Answers = append(e.Answers, m.sentAway(w, kerr.RequestTimedOut))
	}
	return e
}

// NextDeadline is the earliest deadline of a wait for the high watermark.
func (m *Machine) NextDeadline() (time.Time, bool) { return m.committed.nextDeadline() }

func (m *Machine) effectiveMinISR() int { return min(m.minISR, max(1, len(m.replicas))) }

// advance moves the high watermark as far as the followers allow and releases what that satisfies.
func (m *Machine) advance(now time.Time) Effects {
	moved := model.NoOffset
	if m.leading && len(m.isr) >= m.effectiveMinISR() {
		if low := m.lowest(now); low > m.highWatermark {
			m.highWatermark, moved = low, low
		}
	}
	e := m.release()
	e.HighWatermark = moved
	return e
}

// release gives the waits that are over. Their records are committed, but where the ISR, at its largest, has shrunk below the
// minimum since they were staged the producer is told so (facts/replication.md 4). The slice is used again by the next call.
func (m *Machine) release() Effects {
	clear(m.released)
	e := Effects{HighWatermark: model.NoOffset, Answers: m.released[:0]}
	e.Answers = m.written.takeUpTo(m.logEnd, e.Answers)
	from := len(e.Answers)
	e.Answers = m.committed.takeUpTo(m.highWatermark, e.Answers)
	m.released = e.Answers
	if len(m.maximal()) < m.effectiveMinISR() {
		for i := from; i < len(e.Answers); i++ {
			e.Answers[i] = e.Answers[i].failed(kerr.NotEnoughReplicasAfterAppend)
		}
	}
	return e
}

// sentAway answers a wait whose write may be under way.
func (m *Machine) sentAway(w Wait, code kerr.Code) Wait {
	held := w.Next > m.logEnd
	w = w.failed(code)
	w.Result.BytesHeld = held
	return w
}

// refused answers an append of which nothing is staged.
func (w Wait) refused(code kerr.Code) Wait {
	w = w.failed(code)
	w.Result.Refused = true
	return w
}

func (w Wait) failed(code kerr.Code) Wait {
	w.Result = AppendResult{
		Code: code, BaseOffset: model.NoOffset, LogAppendTime: -1, LogStart: model.NoOffset,
		LeaderEpoch: w.Result.LeaderEpoch, BytesHeld: w.Result.BytesHeld,
	}
	return w
}
