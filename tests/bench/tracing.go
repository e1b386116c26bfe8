package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// tracing measures what the trace hooks cost: compiled in but off, beside a mailbox built without them, and when one
// request in a thousand is sampled. The figures have no counterpart in Kafka: the columns are without and with.
func tracing(b *bench) error {
	without, err := hop("notrace")
	if err != nil {
		return err
	}
	with, err := hop("")
	if err != nil {
		return err
	}
	b.report.add("mailbox hop without trace hooks, ns", "troupe", without, goal{})
	b.report.add("mailbox hop with hooks that are off, ns", "troupe", with, goal{})
	b.report.add("the hooks, ns", "troupe", with-without, goal{atMost: 3})
	return b.sampling()
}

var hopTime = regexp.MustCompile(`(?m)^BenchmarkHopOnOneGoroutine\S*\s+\d+\s+([\d.]+) ns/op\s+\d+ B/op\s+(\d+) allocs/op`)

// hop gives the fastest of some runs: what a disturbed machine adds is never negative.
func hop(tag string) (float64, error) {
	test := exec.Command("go", "test", "-run", "^$", "-tags", tag, "-bench", "^BenchmarkHopOnOneGoroutine$", "-count", "10", "-benchtime", "300ms", "./actors/kit")
	out, err := test.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("benchmark of a hop: %w\n%s", err, out)
	}
	var ns []float64
	for _, found := range hopTime.FindAllSubmatch(out, -1) {
		v, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return 0, err
		}
		if string(found[2]) != "0" {
			return 0, fmt.Errorf("a hop allocates:\n%s", out)
		}
		ns = append(ns, v)
	}
	if len(ns) == 0 {
		return 0, fmt.Errorf("no figure in:\n%s", out)
	}
	return slices.Min(ns), nil
}

// sampling puts two brokers under the produce-1K load in turns, one that samples a request in a thousand.
func (b *bench) sampling() (err error) {
	kind := b.contestants[len(b.contestants)-1]
	var brokers []*peer.Broker
	defer func() {
		for _, broker := range brokers {
			err = errors.Join(err, broker.Remove())
		}
	}()
	for _, every := range []int{0, 1000} {
		broker, err := b.broker(kind, fmt.Sprintf("trace.sample.every=%d", every))
		if err != nil {
			return err
		}
		brokers = append(brokers, broker)
		if err := broker.Start(); err != nil {
			return err
		}
		if err := load.CreateTopics(broker.Address, partitions, "small"); err != nil {
			return err
		}
	}
	taken := make([][]float64, len(brokers))
	for round := range 2*b.size.latency + 1 {
		if err := b.touchMemory(); err != nil {
			return err
		}
		for i, broker := range brokers {
			m, err := observe(broker, func() (load.Done, error) { return produce1K.Run(broker.Address, "small", partitions, b.load/4) })
			if err != nil {
				return err
			}
			if round > 0 {
				taken[i] = append(taken[i], m.cpuPerGB())
			}
		}
	}
	off, on := median(taken[0]), median(taken[1])
	b.report.add("produce-1K without tracing, CPU s/GB", "troupe", off, goal{})
	b.report.add("produce-1K, 1 in 1000 sampled, CPU s/GB", "troupe", on, goal{})
	b.report.add("sampling, % of the CPU", "troupe", 100*(on/off-1), goal{atMost: 3})
	return nil
}
