// Command bench puts Troupe and Apache Kafka under the same loads on one machine, in turns, and prints both figures,
// their ratio and what is asked of it. README.md says what it measures, what it needs and how to read it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"troupe/tests/bench/peer"
	"troupe/tests/kafka"
)

// scenarios in the order they run; the loads come first, while the disk is fresh.
var scenarios = []struct {
	name string
	run  func(*bench) error
}{
	{"loads", loads},
	{"start", start},
	{"connections", connections},
	{"sessions", sessions},
	{"groups", groups},
	{"compaction", compaction},
	{"restart", restart},
	{"tracing", tracing},
	{"partitions", partitionsReplicated},
}

// size is how long and how much a run measures.
type size struct {
	load     time.Duration // one load
	rounds   int           // of throughput loads
	latency  int           // rounds of latency, and of other times
	idle     time.Duration // to watch a broker that has nothing to do
	restart  int           // GiB written before the kill
	topics   int           // of 100 partitions, at the restart
	idlers   int           // connections that send nothing
	sessions int           // fetch sessions of 1,000 partitions
	members  int           // of one group
	groups   int           // of three members, and with 100 committed offsets each
	commits  int           // of one group
	keyed    int           // bytes to compact
	many     int           // topics of 1,000 partitions, on three brokers
}

var (
	whole = size{
		load: 10 * time.Second, rounds: 3, latency: 5, idle: 30 * time.Second, restart: 20, topics: 50, idlers: 10_000, sessions: 100,
		members: 1000, groups: 10_000, commits: 10_000_000, keyed: 1 << 30, many: 10,
	}
	brief = size{
		load: 3 * time.Second, rounds: 1, latency: 1, idle: 10 * time.Second, restart: 2, topics: 5, idlers: 2_000, sessions: 20,
		members: 200, groups: 2_000, commits: 500_000, keyed: 256 << 20, many: 1,
	}
)

// bench is one run.
type bench struct {
	size
	contestants []peer.Kind // Kafka first, when it takes part
	folder      string      // on the disk under test
	memory      int         // GiB to touch before each load
	report      report
}

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 2 && args[0] == touchCommand {
		return touch(args[1])
	}
	b := &bench{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "small sizes, for a look")
	ours := flags.Bool("ours", false, "Troupe alone, while tuning")
	binary := flags.String("binary", "", "a built troupe; empty builds one")
	folder := flags.String("dir", "", "folder on the disk to measure; empty is the one of temporary files")
	out := flags.String("json", "", "file for all single measurements")
	memory := flags.Int("touch", -1, "GiB of memory to touch before each load; -1 is a third of what is available, 8 at most")
	seconds := flags.Int("seconds", 0, "seconds of one load, 0 for the default")
	rounds := flags.Int("rounds", 0, "alternating rounds of each load, 0 for the default")
	gib := flags.Int("restart", 0, "GiB written before the kill, 0 for the default")
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: go run ./tests/bench [flags] [%s]\n", strings.Join(names(), " | "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.size = whole
	if *quick {
		b.size = brief
	}
	if *seconds > 0 {
		b.load = time.Duration(*seconds) * time.Second
	}
	if *rounds > 0 {
		b.rounds, b.latency = *rounds, *rounds
	}
	if *gib > 0 {
		b.size.restart = *gib
	}
	if b.memory = *memory; b.memory < 0 {
		b.memory = memoryToTouch()
	}
	for _, name := range flags.Args() {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("no scenario is called %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	temporary, err := os.MkdirTemp(*folder, "troupe-bench-")
	if err != nil {
		return err
	}
	b.folder = temporary
	defer os.RemoveAll(temporary)
	if err := b.prepare(*binary, *ours); err != nil {
		return err
	}
	return errors.Join(b.measure(flags.Args()), b.report.save(*out))
}

func names() []string {
	var all []string
	for _, s := range scenarios {
		all = append(all, s.name)
	}
	return all
}

// prepare builds the binary and fetches Kafka.
func (b *bench) prepare(binary string, ours bool) error {
	if !ours {
		jars, err := kafka.Jars()
		if err != nil {
			return err
		}
		b.contestants = append(b.contestants, peer.Kafka(jars))
	}
	if binary == "" {
		binary = filepath.Join(b.folder, "troupe")
		build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/troupe")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build ./cmd/troupe (run from the repository's root): %w\n%s", err, out)
		}
	}
	b.contestants = append(b.contestants, peer.Troupe(binary))
	return nil
}

// measure runs the scenarios that are named, all when none is. One that fails does not keep the others from running.
func (b *bench) measure(chosen []string) error {
	fmt.Println(machine())
	began := time.Now()
	var failures error
	for _, s := range scenarios {
		if len(chosen) > 0 && !slices.Contains(chosen, s.name) {
			continue
		}
		from := time.Now()
		note("%s …", s.name)
		if err := s.run(b); err != nil {
			failures = errors.Join(failures, fmt.Errorf("%s: %w", s.name, err))
		}
		note("%s took %v", s.name, time.Since(from).Round(time.Second))
	}
	b.report.print(os.Stdout)
	fmt.Printf("took %v\n", time.Since(began).Round(time.Second))
	return failures
}

// note tells how far the run is.
func note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// broker prepares a contestant's node.
func (b *bench) broker(k peer.Kind, settings ...string) (*peer.Broker, error) {
	return peer.New(k, b.folder, settings...)
}
