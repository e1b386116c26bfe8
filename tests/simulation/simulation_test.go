package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	seeds   = flag.Int("seeds", 4, "how many seeds are simulated")
	first   = flag.Uint64("seed", 1, "the first of them")
	stride  = flag.Uint64("stride", 1, "from one to the next")
	story   = flag.Bool("story", false, "tell every event")
	frames  = flag.Bool("frames", false, "and every frame")
	nodes   = flag.Int("nodes", 0, "how many nodes a cluster has; 0 is three, but one in every tenth seed")
	full    = flag.Bool("full", false, "ten simulated minutes a seed, not one")
	only    = flag.String("only", "", "the numbers of the faults that happen, with commas; all when empty")
	jobs    = flag.Int("jobs", runtime.GOMAXPROCS(0), "how many processes work on many seeds")
	stop    = flag.Bool("stop", false, "end with the first seed that fails")
	smaller = flag.Bool("minimise", true, "look for fewer faults with which a failing seed fails too")
)

// size is how much happens in a seed.
func size(seed uint64) Size {
	n := *nodes
	switch {
	case n > 0:
	case seed%10 == 0:
		n = 1
	default:
		n = 3
	}
	if *full {
		return Size{Nodes: n, Time: 10 * time.Minute, Faults: 60, Records: 20_000}
	}
	return Size{Nodes: n, Time: time.Minute, Faults: 14, Records: 2000}
}

func options(t *testing.T, seed uint64) Options {
	o := Options{Seed: seed, Size: size(seed), Frames: *frames}
	if *story {
		o.Story, o.Brokers = os.Stderr, os.Stderr
	}
	for n := range strings.FieldsFuncSeq(*only, func(r rune) bool { return r == ',' }) {
		i, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		o.Only = append(o.Only, i)
	}
	return o
}

// again is the command that tells the story of a seed.
func again(o Options) string {
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(o.Only), " ", ","), "[]")
	return fmt.Sprintf("go test ./tests/simulation -run Whatever -nodes=%d -full=%v -seed=%d -seeds=1 -only=%s -story", o.Size.Nodes, *full, o.Seed, numbers)
}

// manySeeds are worth more than one process.
const manySeeds = 16

func TestNothingBreaksWhateverFails(t *testing.T) {
	if *seeds > manySeeds && *jobs > 1 {
		inProcesses(t)
		return
	}
	for i := range uint64(*seeds) {
		simulate(t, *first+i**stride)
		if *stop && t.Failed() {
			return
		}
	}
}

// simulate runs a seed and tells what came of it. A failing one is cut down to few faults.
func simulate(t *testing.T, seed uint64) {
	began := time.Now()
	o := options(t, seed)
	r, err := Run(o)
	if err == nil {
		fmt.Println(outcome{seed, r.Hash, r.Records, len(r.Faults), r.Took.Round(time.Second).String(), time.Since(began).Round(time.Millisecond).String(), r.Cover})
		return
	}
	t.Errorf("seed %d: %v\n%s", seed, err, again(o))
	if !*story && *smaller {
		if o, r, err = Minimise(o, r); err != nil {
			t.Errorf("with fewer faults: %v\nthe last events:\n%s\n%s", err, r.Last, again(o))
		}
	}
}

// A node that is alone has nobody to replicate to: what it acknowledged outlives the power because it was synced.
func TestANodeThatIsAloneKeepsWhatItSynced(t *testing.T) {
	for seed := range uint64(6) {
		o := Options{Seed: seed, Size: Size{Nodes: 1, Time: time.Minute, Faults: 14, Records: 2000}}
		if r, err := Run(o); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, r.Last)
		}
	}
}

func TestASeedReplaysBitForBit(t *testing.T) {
	for seed := range uint64(2) {
		o := Options{Seed: *first + seed, Size: Size{Nodes: 3, Time: 20 * time.Second, Faults: 8, Records: 500}}
		a, errA := Run(o)
		b, errB := Run(o)
		if (errA == nil) != (errB == nil) || a.Hash != b.Hash || a.Events != b.Events {
			t.Fatalf("seed %d gave two histories: %x of %d turns (%v) and %x of %d turns (%v)", o.Seed, a.Hash, a.Events, errA, b.Hash, b.Events, errB)
		}
	}
}
