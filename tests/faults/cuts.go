//go:build interop && unix

package faults

import (
	"slices"

	"troupe/tests/node"
)

// direction says which way of a link is cut.
type direction uint8

const (
	outbound direction = 1 << iota
	inbound
	bothWays = outbound | inbound
)

// cut parts the chosen nodes from all others. Clients reach them as before.
func cut(d direction) Step {
	return func(s *stage) { s.cutBetween(d, s.chosen, s.except(s.chosen)) }
}

// cutPair parts the first chosen node from the second.
func cutPair(d direction) Step {
	return func(s *stage) { s.cutBetween(d, s.chosen[:1], s.chosen[1:2]) }
}

func (s *stage) cutBetween(d direction, here, there []int32) {
	if d&outbound != 0 {
		s.links.Cut(here, there)
	}
	if d&inbound != 0 {
		s.links.Cut(there, here)
	}
}

// narrow lets so many bytes a second come to the chosen nodes.
func narrow(rate int) Step {
	return func(s *stage) { s.links.Slow(s.except(s.chosen), s.chosen, rate) }
}

// heal makes all links whole.
func heal(s *stage) { s.links.Heal() }

// leaderAndFollower are a leader and a follower of it, neither of which leads the quorum.
func leaderAndFollower(s *stage) []int32 {
	s.Helper()
	first := plainLeader(s)
	return slices.Concat(first, s.except([]int32{first[0], s.cluster.Controller().ID}))
}

// leaderThenController are a leader that does not lead the quorum, and who does.
func leaderThenController(s *stage) []int32 {
	s.Helper()
	return slices.Concat(plainLeader(s), controller(s))
}

// outOfSync waits until a chosen node is out of the ISR of some partition.
func outOfSync(s *stage) {
	s.Helper()
	node.Eventually(s, "a node that lags leaves an ISR", func() bool {
		for p := range int32(partitions) {
			if !slices.Contains(s.cluster.Partition(s.load.Topic(), p).ISR, s.chosen[len(s.chosen)-1]) {
				return true
			}
		}
		return false
	})
}

// inSyncAgain waits until all replicas of the load's topic are in sync, in the middle of the load.
func inSyncAgain(s *stage) {
	s.Helper()
	s.cluster.AwaitWhole(s.load.Topic())
}
