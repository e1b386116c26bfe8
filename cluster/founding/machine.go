// Package founding decides how nodes that belong to no cluster come to belong to one: to the cluster that is there, or to
// one that they found together.
//
// A new cluster has a known number of first voters, named by their addresses. Each of them shows its state to whoever asks,
// and changes it by what it sees of the others' (Look):
//
//	new       the node with the lowest id, once it sees all of them new, draws the cluster's id and accepts its own proposal
//	accepted  each other node accepts what that one shows, once; from then on it accepts nothing of anybody else
//	founded   the proposer, when it sees that all have accepted; the others when they see that anybody has
//
// Nobody votes before it is founded. A node that sees a cluster that it has accepted nothing of joins it without a vote: it
// is a new one, or one that has lost its disk.
package founding

import (
	"fmt"
	"slices"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// Proposal is a cluster that is to be: its id and its voters, in the order of their ids.
type Proposal struct {
	ClusterID string
	Proposer  model.BrokerID
	Voters    []batch.Voter
}

// State is what a node shows of itself.
type State struct {
	Voter batch.Voter // as which it would vote
	// ClusterID is that of its cluster; empty before it belongs to one.
	ClusterID string
	// Accepted is what it has accepted, nil for nothing. It stays when the cluster is founded.
	Accepted *Proposal
}

// Outcome is what a node has come to; the zero Outcome is that it has to look again.
type Outcome struct {
	ClusterID string
	// Voters are the first ones of a cluster that was founded with this node; nil for one that this node joins.
	Voters []batch.Voter
}

// Machine is one node that belongs to no cluster.
//
// Invariants:
//  1. A cluster is founded only when each of its first voters has accepted it, on its disk (kept by the proposer).
//  2. A node accepts the proposals of one node only, so that no two of different proposers can both be accepted by all.
//  3. What a node shows is on its disk: the shell saves State before it shows it.
type Machine struct {
	state  State
	voters int
	draw   func() string
}

// New goes on from what is on disk. voters is how many found a cluster, 0 on a node that founds none; draw makes the id of
// a cluster.
func New(s State, voters int, draw func() string) *Machine {
	return &Machine{state: s, voters: voters, draw: draw}
}

// State is what has to be saved, and shown from then on.
func (m *Machine) State() State { return m.state }

// Look judges what the nodes at the first addresses show, this one among them; beyond are those at other addresses. The
// error says why it cannot go on as things are; it is looked at again.
func (m *Machine) Look(first, beyond []State) (Outcome, error) {
	for _, s := range slices.Concat(first, beyond) {
		if s.ClusterID == "" {
			continue
		}
		a := m.state.Accepted
		switch {
		case a == nil:
			return Outcome{ClusterID: s.ClusterID}, nil
		case a.ClusterID == s.ClusterID:
			return Outcome{ClusterID: s.ClusterID, Voters: a.Voters}, nil
		}
		return Outcome{}, fmt.Errorf("node %d is of the cluster %s, but this node is to be a first voter of the cluster %s", s.Voter.ID, s.ClusterID, a.ClusterID)
	}
	if m.voters == 0 || len(first) < m.voters {
		return Outcome{}, nil
	}
	voters, err := m.gather(first)
	if err != nil {
		return Outcome{}, err
	}
	if voters[0].ID == m.state.Voter.ID {
		return m.propose(first, voters), nil
	}
	return Outcome{}, m.accept(first, voters)
}

// gather lists the voters that there would be, which must be as many nodes as there are addresses.
func (m *Machine) gather(first []State) ([]batch.Voter, error) {
	voters := make([]batch.Voter, 0, len(first))
	for _, s := range first {
		voters = append(voters, s.Voter)
	}
	slices.SortFunc(voters, func(a, b batch.Voter) int { return int(a.ID) - int(b.ID) })
	for i := 1; i < len(voters); i++ {
		if voters[i].ID == voters[i-1].ID {
			return nil, fmt.Errorf("two of the first voters have the node.id %d", voters[i].ID)
		}
	}
	return voters, nil
}

// propose makes a proposal, or another one when somebody has another disk by now; and ends it when all have accepted.
func (m *Machine) propose(first []State, voters []batch.Voter) Outcome {
	a := m.state.Accepted
	if a == nil || !same(a.Voters, voters) {
		m.state.Accepted = &Proposal{ClusterID: m.draw(), Proposer: m.state.Voter.ID, Voters: voters}
		return Outcome{}
	}
	for _, s := range first {
		if s.Accepted == nil || s.Accepted.ClusterID != a.ClusterID {
			return Outcome{}
		}
	}
	return Outcome{ClusterID: a.ClusterID, Voters: a.Voters}
}

// accept takes what the proposer shows, if it is what this node sees too.
func (m *Machine) accept(first []State, voters []batch.Voter) error {
	i := slices.IndexFunc(first, func(s State) bool { return s.Voter.ID == voters[0].ID })
	p, a := first[i].Accepted, m.state.Accepted
	switch {
	case p == nil || p.Proposer != voters[0].ID || !same(p.Voters, voters):
		return nil // it has not come so far
	case a != nil && a.ClusterID == p.ClusterID:
		return nil
	case a != nil && a.Proposer != p.Proposer:
		return fmt.Errorf("this node has accepted the cluster %s of node %d, and node %d proposes another: are controller.quorum.bootstrap.servers the same everywhere?",
			a.ClusterID, a.Proposer, p.Proposer)
	}
	m.state.Accepted = p
	return nil
}

// same tells whether two sets are of the same nodes with the same disks; addresses may have changed.
func same(a, b []batch.Voter) bool {
	return slices.EqualFunc(a, b, func(x, y batch.Voter) bool { return x.ID == y.ID && x.DirectoryID == y.DirectoryID })
}
