//go:build interop && unix

package faults

import (
	"fmt"

	"troupe/tests/node"
)

// votersAre waits until the quorum has so many voters, all of which follow its leader, and no node that wants to vote has none.
func votersAre(n int) Step {
	return func(s *stage) {
		s.Helper()
		node.Eventually(s, fmt.Sprintf("the quorum has %d voters that follow", n), func() bool {
			q, err := s.cluster.Controller().Quorum()
			if err != nil || q.ErrorCode != 0 || len(q.CurrentVoters) != n {
				return false
			}
			for _, v := range q.CurrentVoters {
				if v.LogEndOffset < q.HighWatermark {
					return false
				}
			}
			return true
		})
	}
}
