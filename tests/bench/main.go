// Command bench puts Troupe and Apache Kafka under the same loads on one machine, in turns, and prints the medians of
// their figures, the ratios, and what is asked of each ratio. README.md says what it needs and how to read it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

var (
	rounds  = flag.Int("rounds", 1, "alternating runs; figures are medians of them")
	seconds = flag.Int("seconds", 10, "seconds of one load")
	versus  = flag.String("versus", "../shared/tools/versus/versus", "the load script, from the repository's root")
	binary  = flag.String("binary", "", "a built troupe; empty builds one")
	ours    = flag.Bool("ours", false, "run Troupe alone, without Kafka beside it")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "troupe-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *binary == "" {
		*binary = filepath.Join(dir, "troupe")
		if err := command(ctx, "go", "build", "-trimpath", "-o", *binary, "./cmd/troupe"); err != nil {
			return err
		}
	}
	contestants := []contestant{kafka{}, troupe{}}
	if *ours {
		contestants = contestants[1:]
	}
	results := map[string][]figures{}
	for round := range *rounds {
		for _, c := range contestants {
			began := time.Now()
			got, err := measure(ctx, c, filepath.Join(dir, fmt.Sprintf("%s-%d", c.name(), round)))
			if err != nil {
				return fmt.Errorf("%s: %w", c.name(), err)
			}
			results[c.name()] = append(results[c.name()], got)
			fmt.Fprintf(os.Stderr, "round %d of %s took %v\n", round+1, c.name(), time.Since(began).Round(time.Second))
		}
	}
	report(os.Stdout, results)
	return nil
}
