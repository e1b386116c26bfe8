package simulation

import (
	"flag"
	"os"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 4, "how many seeds are simulated")
	first = flag.Uint64("seed", 1, "the first of them")
	story = flag.Bool("story", false, "tell every event")
	nodes = flag.Int("nodes", 1, "how many nodes a cluster has")
	full  = flag.Bool("full", false, "ten simulated minutes a seed, not one")
)

func size() Size {
	if *full {
		return Size{Nodes: *nodes, Time: 10 * time.Minute, Faults: 40, Records: 20_000}
	}
	return Size{Nodes: *nodes, Time: time.Minute, Faults: 12, Records: 2000}
}

func options(seed uint64) Options {
	o := Options{Seed: seed, Size: size()}
	if *story {
		o.Story, o.Brokers = os.Stderr, os.Stderr
	}
	return o
}

func TestNothingBreaksWhateverFails(t *testing.T) {
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		began := time.Now()
		r, err := Run(options(seed))
		if err != nil {
			t.Fatalf("seed %d: %v\nthe last events:\n%s\nagain: go test ./tests/simulation -run Whatever -nodes %d -full=%v -seed %d -seeds 1 -story",
				seed, err, r.Last, *nodes, *full, seed)
		}
		t.Logf("seed %d: %s simulated in %s, %d turns, %d faults, %d records, %v", seed, r.Took.Round(time.Second),
			time.Since(began).Round(time.Millisecond), r.Events, r.Faults, r.Records, r.Cover)
	}
}

func TestASeedReplaysBitForBit(t *testing.T) {
	o := options(*first)
	o.Size.Time, o.Size.Faults, o.Size.Records = 20*time.Second, 6, 500
	a, errA := Run(o)
	b, errB := Run(o)
	if (errA == nil) != (errB == nil) || a.Hash != b.Hash || a.Events != b.Events {
		t.Fatalf("seed %d gave two histories: %x of %d turns (%v) and %x of %d turns (%v)", *first, a.Hash, a.Events, errA, b.Hash, b.Events, errB)
	}
}
