package simulation

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	seeds  = flag.Int("seeds", 4, "how many seeds are simulated")
	first  = flag.Uint64("seed", 1, "the first of them")
	stride = flag.Uint64("stride", 1, "from one to the next")
	story  = flag.Bool("story", false, "tell every event")
	frames = flag.Bool("frames", false, "and every frame")
	nodes  = flag.Int("nodes", 1, "how many nodes a cluster has")
	full   = flag.Bool("full", false, "ten simulated minutes a seed, not one")
	only   = flag.String("only", "", "the numbers of the faults that happen, with commas; all when empty")
	jobs   = flag.Int("jobs", runtime.GOMAXPROCS(0), "how many processes work on many seeds")
)

func size() Size {
	if *full {
		return Size{Nodes: *nodes, Time: 10 * time.Minute, Faults: 40, Records: 20_000}
	}
	return Size{Nodes: *nodes, Time: time.Minute, Faults: 12, Records: 2000}
}

func options(t *testing.T, seed uint64) Options {
	o := Options{Seed: seed, Size: size(), Frames: *frames}
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
	return fmt.Sprintf("go test ./tests/simulation -run Whatever -nodes=%d -full=%v -seed=%d -seeds=1 -only=%s -story", *nodes, *full, o.Seed, numbers)
}

// manySeeds are worth more than one process.
const manySeeds = 16

func TestNothingBreaksWhateverFails(t *testing.T) {
	met := map[string]int{}
	if *seeds > manySeeds && *jobs > 1 {
		met = inProcesses(t)
	} else {
		for i := range uint64(*seeds) {
			for _, what := range simulate(t, *first+i**stride) {
				met[what]++
			}
		}
	}
	t.Logf("met: %v", met)
	if lacking := missing(met); *nodes > 1 && *stride == 1 && *seeds >= 100 && len(lacking) > 0 {
		t.Errorf("%d seeds did not meet %v: they prove nothing about it", *seeds, lacking)
	}
}

// A node that is alone has nobody to replicate to: what it acknowledged outlives the power because it was synced.
func TestANodeThatIsAloneKeepsWhatItSynced(t *testing.T) {
	for seed := range uint64(10) {
		o := Options{Seed: seed, Size: Size{Nodes: 1, Time: time.Minute, Faults: 12, Records: 2000}}
		if r, err := Run(o); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, r.Last)
		}
	}
}

// simulate runs a seed and tells what it met. A failing one is cut down to few faults.
func simulate(t *testing.T, seed uint64) []string {
	began := time.Now()
	o := options(t, seed)
	r, err := Run(o)
	if err == nil {
		t.Logf("seed %d: %s simulated in %s, %d turns, %d faults, %d records", seed, r.Took.Round(time.Second),
			time.Since(began).Round(time.Millisecond), r.Events, len(r.Faults), r.Records)
		fmt.Printf("%s%s\n", metMark, strings.Join(r.Cover, "\t"))
		return r.Cover
	}
	t.Errorf("seed %d: %v\n%s", seed, err, again(o))
	if !*story {
		if o, r, err = Minimise(o, r); err != nil {
			t.Errorf("with fewer faults: %v\nthe last events:\n%s\n%s", err, r.Last, again(o))
		}
	}
	return r.Cover
}

// metMark begins the line in which a process tells what a seed met.
const metMark = "met\t"

// inProcesses shares the seeds out: the randomness of the system, which raft draws from, is one for a process.
func inProcesses(t *testing.T) map[string]int {
	met := map[string]int{}
	var all sync.WaitGroup
	var mu sync.Mutex
	for j := range *jobs {
		share := (*seeds - j + *jobs - 1) / *jobs
		cmd := exec.Command(os.Args[0], "-test.run=Whatever", "-test.v", "-test.timeout=0", "-jobs=1", fmt.Sprintf("-nodes=%d", *nodes),
			fmt.Sprintf("-full=%v", *full), fmt.Sprintf("-seed=%d", *first+uint64(j)), fmt.Sprintf("-seeds=%d", share), fmt.Sprintf("-stride=%d", *jobs))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			said := listen(out, func(what string) {
				mu.Lock()
				met[what]++
				mu.Unlock()
			})
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
	all.Wait()
	return met
}

// listen takes what a process says, and gives back all but what its seeds met.
func listen(out io.Reader, met func(string)) string {
	var said bytes.Buffer
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		what, ok := strings.CutPrefix(lines.Text(), metMark)
		if !ok {
			said.WriteString(lines.Text() + "\n")
			continue
		}
		for one := range strings.SplitSeq(what, "\t") {
			if one != "" {
				met(one)
			}
		}
	}
	return said.String()
}

func TestASeedReplaysBitForBit(t *testing.T) {
	o := options(t, *first)
	o.Size.Time, o.Size.Faults, o.Size.Records = 20*time.Second, 6, 500
	a, errA := Run(o)
	b, errB := Run(o)
	if (errA == nil) != (errB == nil) || a.Hash != b.Hash || a.Events != b.Events {
		t.Fatalf("seed %d gave two histories: %x of %d turns (%v) and %x of %d turns (%v)", *first, a.Hash, a.Events, errA, b.Hash, b.Events, errB)
	}
}
