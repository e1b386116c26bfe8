//go:build interop && unix

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"troupe/tests/node"
)

// lone is the cluster that begins with one node.
func lone() node.ClusterOptions { return node.ClusterOptions{Nodes: 1, Dynamic: true} }

// grow adds nodes, with settings of their own, and chooses them.
func grow(n int, set ...string) Step {
	return func(s *stage) {
		s.Helper()
		s.chosen = nil
		for range n {
			s.chosen = append(s.chosen, s.cluster.Add(set...).ID)
		}
		s.cluster.Start(s.chosen...)
		s.cluster.AwaitServing()
		s.load.Reach(s.cluster.Bootstrap())
	}
}

// node1 is the first.
func node1(*stage) []int32 { return []int32{1} }

// forEver has the chosen nodes gone: nobody waits for them.
func forEver(s *stage) { s.load.Reach(s.cluster.Bootstrap()) }

// copies waits until each partition of the load and of committed offsets has so many replicas, all of them in sync.
func copies(n int) Step {
	return func(s *stage) {
		s.Helper()
		whole(s)
		for _, topic := range []string{s.load.Topic(), "__consumer_offsets"} {
			if got := len(s.cluster.Partition(topic, 0).Replicas); got != n {
				s.Errorf("%s has %d replicas, want %d", topic, got, n)
			}
		}
	}
}

// addVoters makes voters of the chosen nodes, each with the file that the command asks for.
func addVoters(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		file := filepath.Join(s.TempDir(), "controller.properties")
		text := fmt.Sprintf("node.id=%d\nprocess.roles=broker,controller\nlisteners=PLAINTEXT://%s,CONTROLLER://%s\ncontroller.listener.names=CONTROLLER\nlog.dirs=%s\n",
			n.ID, n.Bootstrap, n.Controller, n.Dir)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			s.Fatal(err)
		}
		s.troupe("metadata-quorum", "--command-config", file, "add-controller")
	}
}

// removeVoters takes the votes of the chosen nodes. An answer may be lost with the leadership: who asks again hears that the
// node has none any more.
func removeVoters(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		args := []string{"metadata-quorum", "remove-controller", "--controller-id", fmt.Sprint(n.ID), "--controller-directory-id", property(s, n, "directory.id")}
		if out, err := s.attempt(args...); err != nil && !strings.Contains(out, "VoterNotFoundException") {
			s.Fatalf("troupe %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// drain has the chosen nodes keep nothing.
func drain(s *stage) {
	s.Helper()
	s.troupe("rebalance", "--drain", strings.Trim(strings.ReplaceAll(fmt.Sprint(s.chosen), " ", ","), "[]"), "--execute")
}

// unregister has the cluster forget the chosen nodes, which do not run.
func unregister(s *stage) {
	s.Helper()
	for _, id := range s.chosen {
		s.troupe("cluster", "unregister", "--id", fmt.Sprint(id))
	}
}
