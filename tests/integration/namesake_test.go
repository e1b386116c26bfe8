package integration

import (
	"fmt"
	"strings"
	"testing"

	"troupe/tests/node"
)

// namesake is a second process with the number of a node of a cluster, and with a directory of its own.
func namesake(t *testing.T, id int32, quorum []*node.Node, set ...string) *node.Node {
	t.Helper()
	var at []string
	for _, n := range quorum {
		at = append(at, n.Controller)
	}
	n := node.New(t, node.Options{Set: append(set, fmt.Sprintf("node.id=%d", id),
		"controller.listener.names=CONTROLLER", "controller.quorum.bootstrap.servers="+strings.Join(at, ","))})
	n.ID = id
	n.Launch()
	return n
}

// awaitTold waits until a namesake says where the other process is: by the answer to its registration, or, where the other one
// leads the quorum, since it cannot register.
func awaitTold(t *testing.T, second, first *node.Node, refused, at string) {
	t.Helper()
	leads := fmt.Sprintf("another process with the node.id %d leads it, at %s", first.ID, first.Controller)
	node.Eventually(t, fmt.Sprintf("the second process of node %d is told where the first is", first.ID), func() bool {
		said := second.Output()
		return strings.Contains(said, leads) || strings.Contains(said, refused) && strings.Contains(said, fmt.Sprintf("node=%d here=%s other=%s ", first.ID, second.Bootstrap, at))
	})
	if strings.Contains(second.Output(), "troupe is ready") {
		t.Errorf("two processes serve as node %d", first.ID)
	}
}

func TestASecondProcessOfABrokersNumberIsToldWhereTheFirstIs(t *testing.T) {
	c := node.StartCluster(t, node.ClusterOptions{Dynamic: true})
	for _, n := range c.Nodes {
		second := namesake(t, n.ID, c.Nodes, "process.roles=broker")
		awaitTold(t, second, n, "registration refused, trying again: another process with this node.id is in the cluster", n.Bootstrap)
	}
}

func TestASecondProcessOfAControllersNumberIsToldWhereTheFirstIs(t *testing.T) {
	c := startApart(t, func(at []string) []string {
		return []string{"controller.quorum.bootstrap.servers=" + strings.Join(at, ","), "controller.quorum.initial.voters=3"}
	})
	for _, n := range c.controllers {
		n.Controller = n.Bootstrap
	}
	for _, n := range c.controllers {
		port := node.FreePorts(t, 1)[0]
		second := namesake(t, n.ID, c.controllers, "process.roles=controller", "listeners=CONTROLLER://127.0.0.1:"+port)
		second.Bootstrap = "127.0.0.1:" + port
		awaitTold(t, second, n, "the controller of this node is not registered, trying again: another process with this node.id is in the cluster", n.Controller)
	}
}
