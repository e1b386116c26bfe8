package quorum

import (
	"cmp"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"troupe/internal/model"
)

// Progress is how far a voter has come, as the leader knows it.
type Progress struct {
	Key VoterKey
	// End is the offset after the last entry that is known to be on its disk; for the leader, of its own log.
	End model.Offset
	// Behind tells that it needs a checkpoint, since entries are gone that it lacks.
	Behind bool
	// Answers tells that messages to it arrive, and that it has answered since this leader last counted those who do.
	Answers bool
}

// Progress lists the voters in the order of the configuration; empty on a node that does not lead.
func (m *Machine) Progress() []Progress {
	if !m.leadership.Self {
		return nil
	}
	found := make([]Progress, len(m.voters))
	for i, k := range keysOf(m.voters) {
		found[i] = Progress{Key: k}
	}
	m.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		for i := range found {
			switch {
			case found[i].Key.raftID() != id:
			case found[i].Key == m.options.Self:
				found[i].End, found[i].Answers = m.end, true
			default:
				found[i].End, found[i].Behind = offsetOf(p.Match)+1, p.State == tracker.StateSnapshot
				found[i].Answers = p.RecentActive && p.State == tracker.StateReplicate
			}
		}
	})
	return found
}

// HandOver asks the voter that has come furthest, of those that answer if any does, to take the leadership over, and tells whether
// there is one. Proposals are refused until it has, or until an election timeout has passed without it.
func (m *Machine) HandOver() bool {
	others := slices.DeleteFunc(m.Progress(), func(p Progress) bool { return p.Key == m.options.Self })
	if len(others) == 0 {
		return false
	}
	sure := func(p Progress) model.Offset {
		if !p.Answers {
			return model.NoOffset
		}
		return p.End
	}
	to := slices.MaxFunc(others, func(a, b Progress) int { return cmp.Or(cmp.Compare(sure(a), sure(b)), cmp.Compare(a.End, b.End)) })
	m.node.TransferLeader(to.Key.raftID())
	m.collect()
	return true
}

// Self is this node's own key: without a directory where voters are named so.
func (m *Machine) Self() VoterKey { return m.options.Self }

// Checkpoint is where the newest one ends.
func (m *Machine) Checkpoint() Boundary { return m.storage.checkpoint }

// Bare tells that a voter may be too far behind for the entries that are left, and that no checkpoint stands for those that
// are gone: a voter that was alone kept none.
func (m *Machine) Bare() bool {
	return len(m.voters) > 1 && indexOf(m.storage.checkpoint.End-1) < m.storage.start
}

// Voted is whom this node voted for in its epoch, NoVoter for none.
func (m *Machine) Voted() VoterKey { return m.hard.Voted }

// Alone tells whether this node is the only voter: it needs neither ticks nor links.
func (m *Machine) Alone() bool { return len(m.voters) == 1 && keyOf(m.voters[0]) == m.options.Self }

// State is a node's part in the quorum.
type State uint8

// The states; a node without a vote only observes.
const (
	Observer State = iota
	Follower
	Candidate
	Leader
)

// String gives Kafka's names (KIP-595).
func (s State) String() string { return [...]string{"observer", "follower", "candidate", "leader"}[s] }

// State is this node's part.
func (m *Machine) State() State {
	switch m.node.BasicStatus().RaftState {
	case raft.StateLeader:
		return Leader
	case raft.StateCandidate, raft.StatePreCandidate:
		return Candidate
	}
	if !m.Votes() {
		return Observer
	}
	return Follower
}

// Votes tells whether this node is a voter of the applied configuration.
func (m *Machine) Votes() bool { return findVoter(m.voters, m.options.Self) >= 0 }

// Settled tells whether everything that was committed before this machine began has come out of Committed: only then does
// the absence of something mean that it is not there.
//
// It is so when an entry of the present leader's own epoch has come out, before which all that any earlier leader committed
// stands, and with it all that is left of what was on this disk: this node has acted on nothing else.
func (m *Machine) Settled() bool {
	return m.settling != model.NoOffset && offsetOf(m.node.BasicStatus().Applied) >= max(m.settling, m.before-1)
}

// hear takes from a leader's message what Settled goes by. An append tells how far the leader has committed, a heartbeat
// no more than how far this node's log is known to agree.
func (m *Machine) hear(message *raftpb.Message) {
	commit, latest := message.GetCommit(), m.node.BasicStatus().HardState.GetTerm()
	if m.settling != model.NoOffset || message.GetTerm() < latest || message.GetType() == raftpb.MsgHeartbeat && commit != m.storage.last() {
		return
	}
	if term, err := m.storage.Term(commit); err == nil && term == message.GetTerm() {
		m.settling = offsetOf(commit)
	}
}
