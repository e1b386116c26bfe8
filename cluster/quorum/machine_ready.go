package quorum

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"troupe/codec/batch"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// collect turns what raft has ready into effects, until it has nothing more. It runs after every event, so that end and
// leadership are never behind raft's own.
func (m *Machine) collect() {
	for m.node.HasReady() {
		ready := m.node.Ready()
		if ready.SoftState != nil {
			m.follow(*ready.SoftState)
		}
		m.confirm(ready.ReadStates)
		var votes []*raftpb.Message
		for _, message := range ready.Messages {
			switch message.GetTo() {
			case raft.LocalAppendThread:
				m.queue(message)
			case raft.LocalApplyThread:
				m.apply(message)
			default:
				if message.GetType() == raftpb.MsgVote {
					votes = append(votes, message)
				} else {
					m.send(message)
				}
			}
		}
		m.ask(votes)
	}
}

// ask sends requests for votes when the candidate's own vote is durable. Raft would send them at once, as two others may elect it:
// one that then dies before that is written forgets its epoch, is elected in it again and gives the offsets of that epoch anew.
func (m *Machine) ask(votes []*raftpb.Message) {
	if n := len(m.outstanding); n > 0 && len(votes) > 0 {
		last := m.outstanding[n-1]
		last.responses = slices.Concat(last.responses, votes)
		return
	}
	for _, message := range votes {
		m.send(message)
	}
}

// follow notes who leads.
func (m *Machine) follow(s raft.SoftState) {
	term := m.node.BasicStatus().HardState.GetTerm()
	m.leadership = Leadership{Leader: m.key(s.Lead), Epoch: model.LeaderEpoch(term), Self: s.RaftState == raft.StateLeader}
	if s.Lead != raft.None && term > m.leaderTerm {
		m.leader, m.leaderTerm = m.key(s.Lead), term
	}
	told := m.leadership
	m.effects.Leadership = &told
}

// key finds who is behind one of raft's numbers. A number that nobody has used with this node is nobody's.
func (m *Machine) key(id uint64) VoterKey {
	if k, ok := m.known[id]; ok {
		return k
	}
	return NoVoter
}

// queue makes an Append of what raft wants on disk. One without anything to write still keeps its place in the order:
// its responses may depend on the Appends before it.
func (m *Machine) queue(message *raftpb.Message) {
	a := &Append{entries: message.GetEntries(), responses: message.GetResponses()}
	if term := message.GetTerm(); term != 0 {
		hard := HardState{Epoch: model.LeaderEpoch(term), Voted: m.key(message.GetVote()), Leader: m.leadership.Leader.ID}
		if hard.Epoch != m.hard.Epoch || hard.Voted != m.hard.Voted {
			m.hard, a.Hard = hard, &hard
			if hard.Voted == m.options.Self {
				// The votes of this candidacy are counted from here.
				m.granted = []VoterKey{m.options.Self}
			}
		}
	}
	if s := message.GetSnapshot(); !raft.IsEmptySnap(s) {
		b := boundaryOf(s)
		a.Install = &b
		m.end, m.written, m.before = b.End, b.End, min(m.before, b.End)
	}
	if n := len(a.entries); n > 0 {
		first := offsetOf(a.entries[0].GetIndex())
		invariant.Check(first <= m.written, "quorum: entry %d leaves a gap after %d", first, m.written)
		a.Truncate = first < m.written
		m.before = min(m.before, first)
		m.changes(a.entries)
		m.end = offsetOf(a.entries[n-1].GetIndex()) + 1
		m.written = m.end
	}
	if a.Hard == nil && a.Install == nil && len(a.entries) == 0 && len(m.outstanding) == 0 {
		m.finish(a)
		return
	}
	m.outstanding = append(m.outstanding, a)
	m.effects.Appends = append(m.effects.Appends, a)
}

// changes notes the last change of voters of what raft wants on disk, which replaces what it overlaps. Its like before it was
// committed when it was proposed, whether this node has heard of that or not: raft goes by it from here on.
func (m *Machine) changes(entries []*raftpb.Entry) {
	if m.change != nil && m.change.GetIndex() >= entries[0].GetIndex() {
		m.change = nil
	}
	for _, e := range entries {
		if !isVoters(e) {
			continue
		}
		if m.change != nil {
			m.reconfigure(m.change)
		}
		m.change = e
	}
}

// reconfigure has raft go by a change of voters, unless it does already.
func (m *Machine) reconfigure(e *raftpb.Entry) {
	entry, err := committed(e)
	// Every entry was decoded when it was proposed, received or loaded.
	invariant.Check(err == nil, "quorum: a change of voters does not decode: %v", err)
	if entry.Offset <= m.since {
		return
	}
	var change raftpb.ConfChangeV2
	err = proto.Unmarshal(e.GetData(), &change)
	invariant.Check(err == nil, "quorum: a change of voters does not decode: %v", err)
	m.node.ApplyConfChange(&change)
	if v, ok := entry.Control.(batch.Voters); ok && len(change.GetContext()) > 0 {
		m.setVoters(v.Voters)
		m.since = entry.Offset
	}
	if m.change != nil && m.change.GetIndex() <= e.GetIndex() {
		m.change = nil
	}
}

// Appended tells that an Append is durable. They are finished in the order in which they came.
func (m *Machine) Appended(a *Append) {
	invariant.Check(len(m.outstanding) > 0 && m.outstanding[0] == a, "quorum: an append was finished out of order")
	m.outstanding = m.outstanding[1:]
	m.finish(a)
	m.collect()
}

// finish lets raft know that an Append is durable, and sends what had to wait for that.
func (m *Machine) finish(a *Append) {
	if a.Install != nil {
		m.storage.start, m.storage.startTerm = indexOf(a.Install.End-1), uint64(a.Install.Epoch)
		m.storage.entries, m.storage.checkpoint = nil, *a.Install
		m.setVoters(a.Install.Voters)
		m.since, m.change = model.NoOffset, nil
	}
	m.storage.append(a.entries)
	for _, response := range a.responses {
		if response.GetTo() == m.options.Self.raftID() {
			// A response that came too late for its term is ignored by raft, as it should be.
			_ = m.node.Step(response)
		} else {
			m.send(response)
		}
	}
}

// apply hands committed entries out, and to raft what it must know of them.
func (m *Machine) apply(message *raftpb.Message) {
	for _, e := range message.GetEntries() {
		if m.settling == model.NoOffset && m.leadership.Self && model.LeaderEpoch(e.GetTerm()) == m.leadership.Epoch {
			m.settling = offsetOf(e.GetIndex())
		}
		entry, err := committed(e)
		// Every entry was decoded when it was proposed, received or loaded.
		invariant.Check(err == nil, "quorum: a committed entry does not decode: %v", err)
		if isVoters(e) {
			m.reconfigure(e)
		}
		m.effects.Committed = append(m.effects.Committed, entry)
	}
	for _, response := range message.GetResponses() {
		// As above: one of a term that is over is ignored.
		_ = m.node.Step(response)
	}
	m.compact()
}

// compact drops the entries that nobody needs: all that are applied when this node votes alone, and otherwise those
// that the newest checkpoint covers, so that followers behind find either entries or that checkpoint.
func (m *Machine) compact() {
	applied := m.node.BasicStatus().Applied
	if len(m.voters) > 1 {
		applied = min(applied, indexOf(m.storage.checkpoint.End-1))
	}
	m.storage.compact(min(applied, m.storage.last()))
}

// Checkpointed tells that a checkpoint up to the boundary is durable.
func (m *Machine) Checkpointed(b Boundary) {
	if b.End > m.storage.checkpoint.End {
		m.storage.checkpoint = b
		m.compact()
	}
}

// setVoters keeps the keys of former voters known: their last messages may still be under way.
func (m *Machine) setVoters(voters []batch.Voter) {
	m.voters = voters
	for _, k := range keysOf(voters) {
		m.known[k.raftID()] = k
	}
}

// send gives a message to the shell. To an unknown number it goes to NoVoter, which no link leads to.
func (m *Machine) send(message *raftpb.Message) {
	payload, err := proto.Marshal(message)
	invariant.Check(err == nil, "quorum: a raft message does not encode: %v", err)
	m.effects.Send = append(m.effects.Send, Message{To: m.key(message.GetTo()), Payload: payload})
}
