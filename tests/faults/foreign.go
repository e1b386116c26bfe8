//go:build interop && unix

package faults

import (
	"os"
	"strings"
	"time"

	"troupe/tests/node"
)

// withForeignData starts the chosen node, which does not run, with the disk of a node of another cluster, does a step, and
// gives it its own back.
func withForeignData(step Step) Step {
	return func(s *stage) {
		s.Helper()
		n := s.nodes()[0]
		other := node.StartCluster(s, node.ClusterOptions{Dynamic: true})
		other.Kill()
		s.foreign = property(s, other.Node(n.ID), "cluster.id")
		own := n.Dir + ".own"
		for _, move := range [][2]string{{n.Dir, own}, {other.Node(n.ID).Dir, n.Dir}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				s.Fatal(err)
			}
		}
		n.Launch()
		step(s)
		if n.Running() {
			n.Kill()
		}
		if err := os.RemoveAll(n.Dir); err != nil {
			s.Fatal(err)
		}
		if err := os.Rename(own, n.Dir); err != nil {
			s.Fatal(err)
		}
	}
}

// refused holds that the chosen node does not come into the cluster, and that it says which two clusters do not agree.
func refused(s *stage) {
	s.Helper()
	n := s.nodes()[0]
	own := property(s, s.cluster.Node(s.except(s.chosen)[0]), "cluster.id")
	node.Eventually(s, "the two clusters are named", func() bool {
		said := n.Output()
		return strings.Contains(said, own) && strings.Contains(said, s.foreign)
	})
	after(2 * time.Second)
	for _, id := range s.except(s.chosen) {
		resp, err := s.cluster.Node(id).Metadata()
		if err != nil {
			s.Fatal(err)
		}
		for _, b := range resp.Brokers {
			if b.NodeID == n.ID {
				s.Errorf("node %d lists node %d, which has the data of another cluster", id, n.ID)
			}
		}
	}
}
