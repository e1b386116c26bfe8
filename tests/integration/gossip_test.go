//go:build unix

package integration

import (
	"strings"
	"testing"
	"time"

	"troupe/tests/node"
)

// gossiping is three nodes that gossip by a key.
func gossiping(t *testing.T) *node.Cluster {
	t.Helper()
	var seeds []string
	for _, port := range node.FreePorts(t, 3) {
		seeds = append(seeds, "127.0.0.1:"+port)
	}
	return node.StartCluster(t, node.ClusterOptions{
		Dynamic: true, Set: []string{"cluster.gossip.key=MDEyMzQ1Njc4OWFiY2RlZg==", "cluster.gossip.seeds=" + strings.Join(seeds, ",")},
		Each: func(id int32) []string { return []string{"cluster.gossip.address=" + seeds[id-1]} },
	})
}

// suspects tells whether a node's metrics say so of another one, and knows whether they have it as alive.
func suspects(t *testing.T, n *node.Node, other string) bool {
	return lists(watched(t, n, "/metrics"), `troupe_gossip_member_suspected{node="`+other+`"} 1`)
}

func knows(t *testing.T, n *node.Node, other string) bool {
	return lists(watched(t, n, "/metrics"), `troupe_gossip_member_suspected{node="`+other+`"} 0`)
}

func TestNodesThatGossipSuspectOneThatIsKilledOrHangsAndTakeItBack(t *testing.T) {
	c := gossiping(t)
	one, two, three := c.Node(1), c.Node(2), c.Node(3)
	node.Eventually(t, "all know all", func() bool {
		return knows(t, one, "2") && knows(t, one, "3") && knows(t, two, "3") && knows(t, three, "1")
	})
	for _, fault := range []struct {
		title     string
		end, mend func()
	}{{"SIGSTOP", three.Pause, three.Resume}, {"SIGKILL", three.Kill, func() { c.Start(3) }}} {
		began := time.Now()
		fault.end()
		node.Eventually(t, "node 3 is suspected after "+fault.title, func() bool { return suspects(t, one, "3") && suspects(t, two, "3") })
		t.Logf("%s: both others suspect it after %s", fault.title, time.Since(began).Round(time.Millisecond))
		fault.mend()
		node.Eventually(t, "node 3 is back after "+fault.title, func() bool { return knows(t, one, "3") && knows(t, two, "3") })
	}
	three.Terminate()
	node.Eventually(t, "node 3 has left and is not suspected", func() bool {
		return !knows(t, one, "3") && !suspects(t, one, "3") && !knows(t, two, "3") && !suspects(t, two, "3")
	})
	node.Eventually(t, "node 1 tells that node 3 leaves", func() bool { return strings.Contains(one.Output(), "node leaves") })
}

func TestANodeThatIsAloneDoesNotGossip(t *testing.T) {
	n := node.Start(t, node.Options{})
	if text := watched(t, n, "/metrics"); strings.Contains(text, "troupe_gossip") {
		t.Error("its metrics tell of gossip")
	}
}
