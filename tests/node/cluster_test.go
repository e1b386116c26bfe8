package node

import "testing"

func TestNodesOfAClusterKnowEachOtherWhateverBecameOfThem(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		c := StartCluster(t, ClusterOptions{Dynamic: dynamic})
		leads := c.Controller()
		c.Kill(leads.ID)
		if now := c.Controller(); now.ID == leads.ID {
			t.Errorf("node %d is killed and leads", now.ID)
		}
		c.AwaitServing()
		c.Start(leads.ID)
		c.AwaitServing()
		c.Kill()
		c.Start()
		c.AwaitServing()
	}
}
