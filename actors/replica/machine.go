package replica

import (
	"slices"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// Machine decides for one leading replica: whether an append is taken, where the high watermark stands, and which
// producers may be answered. The log's offsets come in as events; nothing here touches the log.
//
// Invariants, kept by the methods below and relied on by every reader:
//
//  1. While one replica leads, its high watermark never moves back.
//  2. The high watermark is at most the log end offset of each ISR member, the leader's own end counting only what its
//     flush policy calls written.
//  3. It does not move while the ISR is smaller than the effective min.insync.replicas (KIP-966).
//  4. Each wait is answered once: acks=1 when the log end offset has reached it, acks=all when the high watermark has.
type Machine struct {
	self           model.BrokerID
	leading        bool
	leaderEpoch    model.LeaderEpoch
	partitionEpoch model.PartitionEpoch
	isr            []model.BrokerID
	replicas       []model.BrokerID
	minISR         int
	followers      map[model.BrokerID]model.Offset // log end offsets, as fetched

	logEnd        model.Offset // written by the leader, by its flush policy
	highWatermark model.Offset

	written   waitQueue // acks=1, by log end offset
	committed waitQueue // acks=all, by high watermark
	released  []Wait    // the answers of the last release, whose room is used again
}

// Wait is an append that was staged and not answered yet.
type Wait struct {
	Next     model.Offset // the offset after its last record
	Deadline time.Time    // of acks=all
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
}

// NewMachine starts as a replica that leads nothing.
func NewMachine(self model.BrokerID) *Machine {
	return &Machine{self: self, leaderEpoch: model.NoLeaderEpoch, followers: map[model.BrokerID]model.Offset{}}
}

// Lead takes over at an epoch with the log as it stands. A repeated or older epoch changes only the ISR.
func (m *Machine) Lead(b *BecomeLeader, minISR int, logEnd, highWatermark model.Offset) Effects {
	if b.LeaderEpoch < m.leaderEpoch {
		return Effects{HighWatermark: model.NoOffset}
	}
	if !m.leading || b.LeaderEpoch > m.leaderEpoch {
		m.leading, m.leaderEpoch = true, b.LeaderEpoch
		m.logEnd, m.highWatermark = logEnd, highWatermark
		clear(m.followers)
	}
	m.partitionEpoch = b.PartitionEpoch
	m.isr, m.replicas, m.minISR = slices.Clone(b.ISR), slices.Clone(b.Replicas), minISR
	return m.advance()
}

// Resign ends the leadership: every waiting producer is sent to look for the new leader.
func (m *Machine) Resign() Effects {
	m.leading = false
	e := Effects{HighWatermark: model.NoOffset}
	for _, q := range []*waitQueue{&m.written, &m.committed} {
		for _, w := range q.takeAll() {
			e.Answers = append(e.Answers, m.sentAway(w, kerr.NotLeaderOrFollower))
		}
	}
	return e
}

// SetMinISR follows a change of min.insync.replicas.
func (m *Machine) SetMinISR(n int) Effects {
	m.minISR = n
	return m.advance()
}

// Leading tells the epoch that this replica leads at.
func (m *Machine) Leading() (model.LeaderEpoch, bool) { return m.leaderEpoch, m.leading }

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
func (m *Machine) Written(end model.Offset) Effects {
	invariant.Check(end >= m.logEnd, "log end offset moved back from %d to %d", m.logEnd, end)
	m.logEnd = end
	return m.advance()
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

// advance moves the high watermark as far as the ISR allows and releases what that satisfies.
func (m *Machine) advance() Effects {
	moved := model.NoOffset
	if m.leading && len(m.isr) >= m.effectiveMinISR() {
		low := m.logEnd
		for _, id := range m.isr {
			if id != m.self {
				low = min(low, m.followers[id])
			}
		}
		if low > m.highWatermark {
			m.highWatermark, moved = low, low
		}
	}
	e := m.release()
	e.HighWatermark = moved
	return e
}

// release gives the waits that are over. Their records are committed, but where the ISR has shrunk below the minimum since
// they were staged the producer is told so (facts/replication.md 4). The slice is used again by the next call.
func (m *Machine) release() Effects {
	clear(m.released)
	e := Effects{HighWatermark: model.NoOffset, Answers: m.released[:0]}
	e.Answers = m.written.takeUpTo(m.logEnd, e.Answers)
	from := len(e.Answers)
	e.Answers = m.committed.takeUpTo(m.highWatermark, e.Answers)
	m.released = e.Answers
	if len(m.isr) < m.effectiveMinISR() {
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
