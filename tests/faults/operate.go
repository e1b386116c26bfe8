//go:build interop && unix

package faults

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// client opens a client that ends with the test.
func (s *stage) client(options ...kgo.Opt) *kgo.Client {
	s.Helper()
	always := []kgo.Opt{kgo.SeedBrokers(strings.Split(s.cluster.Bootstrap(), ",")...), kgo.MetadataMinAge(50 * time.Millisecond), kgo.AlwaysRetryEOF()}
	client, err := kgo.NewClient(append(always, options...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(client.Close)
	return client
}

func (s *stage) admin() *kadm.Client {
	s.Helper()
	return kadm.NewClient(s.client())
}

// prefer gives partitions back to the leaders that they had at first.
func prefer(s *stage) {
	s.Helper()
	within, cancel := context.WithTimeout(s.Context(), node.Patience)
	defer cancel()
	topics := kadm.TopicsSet{}
	for p := range int32(partitions) {
		topics.Add(s.load.Topic(), p)
	}
	// What is not elected, since nothing is to do or somebody is not in sync, is asked for again by whoever needs it.
	if _, err := s.admin().ElectLeaders(within, kadm.ElectPreferredReplica, topics); err != nil {
		s.Fatal(err)
	}
}

// property reads what stands in the meta.properties of a node's disk.
func property(s *stage, n *node.Node, name string) string {
	s.Helper()
	text, err := os.ReadFile(n.Dir + "/meta.properties")
	if err != nil {
		s.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+"="); found {
			return value
		}
	}
	s.Fatalf("node %d has no %s in\n%s", n.ID, name, text)
	return ""
}

// troupe runs a command of the binary's against the nodes that run, to its end.
func (s *stage) troupe(args ...string) {
	s.Helper()
	if out, err := s.attempt(args...); err != nil {
		s.Fatalf("troupe %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// attempt gives what a command prints, and how it ends.
func (s *stage) attempt(args ...string) (string, error) {
	s.Helper()
	binary, err := node.Binary()
	if err != nil {
		s.Fatal(err)
	}
	within, cancel := context.WithTimeout(s.Context(), 2*node.Patience)
	defer cancel()
	out, err := exec.CommandContext(within, binary, append(args, "--bootstrap-server", s.cluster.Bootstrap())...).CombinedOutput()
	return string(out), err
}

// operator does one command, as docs/operations.md has it.
func operator(command string) Step {
	return func(s *stage) {
		s.Helper()
		s.troupe(strings.Fields(command)...)
	}
}
