//go:build interop && unix

package faults

import (
	"os"
	"slices"
	"time"
)

// size is a number for a whole run, and for a short one.
type size struct{ whole, short int }

func (z size) now() int {
	if *wholeRun {
		return z.whole
	}
	return z.short
}

// times plays steps again and again.
func times(z size, steps ...Step) Step {
	return func(s *stage) {
		for range z.now() {
			s.rounds++
			s.play(steps)
		}
	}
}

// once plays steps one time, which the report counts.
func once(steps ...Step) Step { return times(size{1, 1}, steps...) }

// seconds lets time pass.
func seconds(whole, short int) Step {
	return func(*stage) { after(time.Duration(size{whole, short}.now()) * time.Second) }
}

// anyMoment lets the load go on for a while that chance decides.
func anyMoment(s *stage) {
	s.Helper()
	s.load.Await(1 + s.chance.IntN(300))
	after(time.Duration(s.chance.IntN(300)) * time.Millisecond)
}

// moment is a short time that chance decides, in which nothing may be acknowledged.
func moment(s *stage) { after(time.Duration(s.chance.IntN(700)) * time.Millisecond) }

// after waits for a span of a cluster's life to pass.
func after(d time.Duration) { <-time.NewTimer(d).C }

// kill ends the chosen nodes at one moment.
func kill(s *stage) {
	s.Helper()
	s.cluster.Kill(s.chosen...)
}

// oneByOne does a step to each of the chosen nodes, in their order.
func oneByOne(steps ...Step) Step {
	return func(s *stage) {
		all := s.chosen
		for _, id := range all {
			s.chosen = []int32{id}
			s.play(steps)
		}
		s.chosen = all
	}
}

// shuffled puts the chosen nodes into an order of chance.
func shuffled(s *stage) {
	s.chance.Shuffle(len(s.chosen), func(i, j int) { s.chosen[i], s.chosen[j] = s.chosen[j], s.chosen[i] })
}

// start starts the chosen nodes and waits until they serve.
func start(s *stage) {
	s.Helper()
	s.cluster.Start(s.chosen...)
}

// launch starts the chosen nodes and waits for nothing: they may need others to serve.
func launch(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		n.Launch()
	}
}

// stop ends the chosen nodes in order (SIGTERM), one after the other.
func stop(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		n.Terminate()
	}
}

// wipe empties the disks of the chosen nodes, which do not run.
func wipe(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		entries, err := os.ReadDir(n.Dir)
		if err != nil || len(entries) == 0 {
			s.Fatalf("the disk of node %d: %d entries, %v", n.ID, len(entries), err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(n.Dir + "/" + e.Name()); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// pause hangs the chosen nodes (SIGSTOP).
func pause(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		n.Pause()
	}
}

// resume lets them go on (SIGCONT).
func resume(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		n.Resume()
	}
}

// goesOn waits until every partition acknowledges.
func goesOn(s *stage) {
	s.Helper()
	s.load.AwaitEach(20)
}

// standsStill holds that nothing is acknowledged, once what was on its way has come.
func standsStill(s *stage) {
	s.Helper()
	after(time.Second)
	before := s.load.Acknowledged()
	after(2 * time.Second)
	if now := s.load.Acknowledged(); now != before {
		s.Errorf("%d records were acknowledged by too few replicas", now-before)
	}
}

// whole waits until all nodes that run serve and all replicas are in sync.
func whole(s *stage) {
	s.Helper()
	s.cluster.AwaitServing()
	s.cluster.AwaitWhole(s.load.Topic())
	s.cluster.AwaitWhole("__consumer_offsets")
}

// ids are the nodes of the cluster that are none of these.
func (s *stage) except(these []int32) (ids []int32) {
	for _, n := range s.cluster.Nodes {
		if !slices.Contains(these, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}
