package founding_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"troupe/cluster/founding"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// node is a machine with its disk. Its addresses are those of the nodes that it is configured to found a cluster with.
type node struct {
	machine *founding.Machine
	saved   founding.State
	seeks   []int
	outcome founding.Outcome
}

type world struct {
	nodes []*node
	drawn int
	disks int
}

func (w *world) draw() string {
	w.drawn++
	return fmt.Sprint("cluster-", w.drawn)
}

func (w *world) add(seeks ...int) {
	n := &node{seeks: seeks}
	w.nodes = append(w.nodes, n)
	w.wipe(len(w.nodes) - 1)
}

// wipe gives a node a new disk.
func (w *world) wipe(i int) {
	w.disks++
	n := w.nodes[i]
	n.saved = founding.State{Voter: batch.Voter{ID: model.BrokerID(i + 1), DirectoryID: model.DirectoryID{byte(w.disks)}}}
	n.outcome = founding.Outcome{}
	w.restart(i)
}

// restart begins again from the disk; a node that has come to a cluster remembers that.
func (w *world) restart(i int) {
	n := w.nodes[i]
	n.machine = founding.New(n.saved, len(n.seeks), w.draw)
}

// look has a node look at those that it sees.
func (w *world) look(i int, sees func(int) bool) error {
	n := w.nodes[i]
	if n.outcome.ClusterID != "" {
		return nil
	}
	var first []founding.State
	for _, k := range n.seeks {
		if k == i || sees(k) {
			first = append(first, w.nodes[k].saved)
		}
	}
	out, err := n.machine.Look(first, nil)
	n.saved = n.machine.State()
	if out.ClusterID != "" {
		n.outcome, n.saved.ClusterID = out, out.ClusterID
	}
	return err
}

func everybody(int) bool { return true }

func TestThreeNodesFoundOneClusterWithAllOfThemAsVoters(t *testing.T) {
	w := &world{}
	for range 3 {
		w.add(0, 1, 2)
	}
	for i := range 2 { // not all are seen yet
		if err := w.look(i, func(k int) bool { return k < 2 }); err != nil || w.drawn > 0 {
			t.Fatalf("%v, %d ids drawn", err, w.drawn)
		}
	}
	for range 4 {
		for i := range w.nodes {
			if err := w.look(i, everybody); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, n := range w.nodes {
		if n.outcome.ClusterID != "cluster-1" || len(n.outcome.Voters) != 3 {
			t.Errorf("node %d came to %+v", i+1, n.outcome)
		}
	}
	w.wipe(1)
	if err := w.look(1, everybody); err != nil || w.nodes[1].outcome.ClusterID != "cluster-1" || w.nodes[1].outcome.Voters != nil {
		t.Errorf("a node with a new disk came to %+v, %v: it must not vote", w.nodes[1].outcome, err)
	}
}

func TestANodeThatFoundsNothingWaitsForACluster(t *testing.T) {
	w := &world{}
	w.add(0, 1)
	w.nodes[0].machine = founding.New(w.nodes[0].saved, 0, w.draw)
	w.add(0, 1)
	if out, err := w.nodes[0].machine.Look([]founding.State{w.nodes[0].saved, w.nodes[1].saved}, nil); err != nil || out.ClusterID != "" || w.drawn > 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := w.nodes[0].machine.Look(nil, []founding.State{{ClusterID: "there"}}); err != nil || out.ClusterID != "there" || out.Voters != nil {
		t.Errorf("%+v, %v", out, err)
	}
}

// Whoever sees whom, and whatever the lists of addresses are: the voters of all clusters that are founded never allow two of
// them to have a majority, since a disk votes in one cluster only.
func TestNoTwoHalvesFoundClustersOfTheirOwn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{}
		lists := [][]int{{0, 1, 2}, {0, 1, 2}, {1, 2, 3}, {0, 2, 3}, {0, 1, 3}}
		agreed := rapid.Bool().Draw(rt, "all have the same list")
		for range 4 {
			list := lists[0]
			if !agreed {
				list = rapid.SampledFrom(lists).Draw(rt, "list")
			}
			w.add(list...)
		}
		for range rapid.IntRange(10, 120).Draw(rt, "steps") {
			i := rapid.IntRange(0, 3).Draw(rt, "node")
			switch rapid.IntRange(0, 9).Draw(rt, "action") {
			case 0:
				if agreed {
					w.wipe(i)
				}
			case 1:
				w.restart(i)
			default:
				mask := rapid.IntRange(0, 15).Draw(rt, "sees")
				_ = w.look(i, func(k int) bool { return mask&(1<<k) != 0 }) // an error is a reason to wait
			}
		}
		// votes counts, by cluster, the disks that vote for it as they are now.
		votes, needed := map[string]int{}, map[string]int{}
		for _, n := range w.nodes {
			for _, v := range n.outcome.Voters {
				if v.ID == n.saved.Voter.ID && v.DirectoryID == n.saved.Voter.DirectoryID {
					votes[n.outcome.ClusterID]++
				}
			}
			needed[n.outcome.ClusterID] = len(n.outcome.Voters)/2 + 1
		}
		able := 0
		for id, n := range votes {
			if n >= needed[id] {
				able++
			}
		}
		if able > 1 {
			rt.Fatalf("%d clusters have a majority: %v", able, votes)
		}
	})
}
