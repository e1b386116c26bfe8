package simulation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Many seeds are shared out among processes: the randomness of the system, which raft draws from, is one for a process, and so
// none can disturb another.

// outcome is what a process tells of a seed that passed, in a line of JSON.
type outcome struct {
	Seed    uint64
	Hash    uint64
	Records int
	Faults  int
	Lasted  string // simulated
	Took    string
	Met     []string
}

func (o outcome) String() string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // of numbers and texts
	}
	return string(b)
}

// parseOutcome reads such a line; false for any other.
func parseOutcome(line []byte) (o outcome, ok bool) {
	return o, json.Unmarshal(line, &o) == nil
}

// tellEvery is how often the progress of many seeds is told.
const tellEvery = 20 * time.Second

// tally is what came of many seeds.
type tally struct {
	mu      sync.Mutex
	began   time.Time
	told    time.Time
	passed  int
	records int
	met     []map[string]int // by hundreds of seeds
	hashes  map[uint64]uint64
}

// inProcesses shares the seeds out.
func inProcesses(t *testing.T) {
	all := &tally{began: time.Now(), told: time.Now(), hashes: map[uint64]uint64{}}
	for range (*seeds + hundred - 1) / hundred {
		all.met = append(all.met, map[string]int{})
	}
	var running sync.WaitGroup
	for j := range *jobs {
		share := (*seeds - j + *jobs - 1) / *jobs
		running.Go(func() { work(t, all, uint64(j), share) })
	}
	running.Wait()
	fmt.Println(all)
	for i, met := range all.met[:*seeds/hundred] {
		if lacking := missing(met); *nodes != 1 && len(lacking) > 0 {
			t.Errorf("the %d seeds from %d on did not meet %v: they prove nothing about it", hundred, *first+uint64(i*hundred), lacking)
		}
	}
	replayed(t, all)
}

// hundred is how many seeds must have met everything.
const hundred = 100

// work has a process run every so manieth seed.
func work(t *testing.T, all *tally, offset uint64, share int) {
	cmd := exec.Command(os.Args[0], "-test.run=NothingBreaks", "-test.timeout=0", "-jobs=1", fmt.Sprintf("-nodes=%d", *nodes),
		fmt.Sprintf("-full=%v", *full), fmt.Sprintf("-seed=%d", *first+offset), fmt.Sprintf("-seeds=%d", share),
		fmt.Sprintf("-stride=%d", *jobs), fmt.Sprintf("-minimise=%v", *smaller), fmt.Sprintf("-stop=%v", *stop))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	var said bytes.Buffer
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if o, ok := parseOutcome(lines.Bytes()); ok {
			all.add(o)
			continue
		}
		said.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
}

// add counts a seed, and tells how things stand now and then.
func (a *tally) add(o outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.passed++
	a.records += o.Records
	a.hashes[o.Seed] = o.Hash
	for _, what := range o.Met {
		a.met[(o.Seed-*first)/hundred][what]++
	}
	if time.Since(a.told) >= tellEvery {
		a.told = time.Now()
		fmt.Println(a)
	}
}

// String tells how many seeds passed so far and what they met.
func (a *tally) String() string {
	sum := map[string]int{}
	for _, met := range a.met {
		for what, n := range met {
			sum[what] += n
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d seeds passed in %s, %d records acknowledged; met", a.passed, *seeds, time.Since(a.began).Round(time.Second), a.records)
	for _, what := range slices.Sorted(maps.Keys(sum)) {
		fmt.Fprintf(&b, " %s: %d;", what, sum[what])
	}
	return b.String()
}

// replayed runs the first seed of each process once more, in this one: what a seed does depends on nothing that was before it.
func replayed(t *testing.T, all *tally) {
	for j := range uint64(*jobs) {
		seed := *first + j
		before, ok := all.hashes[seed]
		if !ok {
			continue
		}
		if r, err := Run(options(t, seed)); err != nil || r.Hash != before {
			t.Errorf("seed %d gave the history %x in one process and %x in another (%v)", seed, before, r.Hash, err)
		}
	}
}
