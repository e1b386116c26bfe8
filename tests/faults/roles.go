//go:build interop && unix

package faults

import (
	"slices"

	"troupe/tests/node"
)

// role finds the nodes that a fault is about.
type role func(*stage) []int32

// choose says whom the steps that follow are about.
func choose(r role) Step {
	return func(s *stage) {
		s.Helper()
		s.chosen = r(s)
		s.Logf("round %d: nodes %v", s.rounds, s.chosen)
	}
}

// leading counts the partitions that each node leads.
func (s *stage) leading() map[int32]int {
	s.Helper()
	count := map[int32]int{}
	for p := range int32(partitions) {
		count[s.cluster.Leader(s.load.Topic(), p).ID]++
	}
	return count
}

// leader leads partitions, and the quorum as it happens.
func leader(s *stage) []int32 {
	s.Helper()
	return []int32{s.cluster.Leader(s.load.Topic(), s.chance.Int32N(partitions)).ID}
}

// plainLeader leads partitions, and not the quorum.
func plainLeader(s *stage) []int32 {
	s.Helper()
	return s.leaderWhere(func(n *node.Node) bool { return n.ID != s.cluster.Controller().ID })
}

// leaderAndController leads both.
func leaderAndController(s *stage) []int32 {
	s.Helper()
	return s.leaderWhere(func(n *node.Node) bool { return n.ID == s.cluster.Controller().ID })
}

// leaderWhere finds a node that leads something. Nodes that were restarted lead nothing before they are given it back.
func (s *stage) leaderWhere(suits func(*node.Node) bool) []int32 {
	s.Helper()
	var found int32
	node.Eventually(s, "a leader is as it is wanted", func() bool {
		leading := s.leading()
		for _, n := range s.cluster.Nodes {
			if leading[n.ID] > 0 && n.Running() && suits(n) {
				found = n.ID
				return true
			}
		}
		prefer(s)
		return false
	})
	return []int32{found}
}

// follower leads nothing: it is one that was restarted, which leaves what it led to the others.
func follower(s *stage) []int32 {
	s.Helper()
	leading := s.leading()
	for _, n := range s.cluster.Nodes {
		if leading[n.ID] == 0 {
			return []int32{n.ID}
		}
	}
	n := s.cluster.Nodes[s.chance.IntN(len(s.cluster.Nodes))]
	n.Terminate()
	n.Restart()
	whole(s)
	return []int32{n.ID}
}

// controller leads the quorum.
func controller(s *stage) []int32 {
	s.Helper()
	return []int32{s.cluster.Controller().ID}
}

// someNode is any.
func someNode(s *stage) []int32 {
	return []int32{s.cluster.Nodes[s.chance.IntN(len(s.cluster.Nodes))].ID}
}

// all but one, whichever.
func allButOne(s *stage) []int32 { return s.except(someNode(s)) }

// everyone is each node of the cluster.
func everyone(s *stage) []int32 { return s.except(nil) }

// followersThenLeader are all nodes, the leader of a partition last.
func followersThenLeader(s *stage) []int32 {
	s.Helper()
	last := leader(s)
	return slices.Concat(s.except(last), last)
}
