package main

import (
	"errors"
	"fmt"
	"time"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// topicPartitions is how many a topic of the restart has.
const topicPartitions = 100

// restart kills a broker (SIGKILL) in the middle of load, when its partitions hold many GiB that were all written just
// now, and takes the time from the new launch until every partition has acknowledged a record. Then once more, with a
// tenth of the load and an empty page cache.
func restart(b *bench) error {
	return b.each(func(b *bench, k peer.Kind) error { return b.fresh(k, b.killed) })
}

func (b *bench) killed(broker *peer.Broker) error {
	layout := load.Layout{Prefix: "filled", Topics: b.topics, Partitions: topicPartitions}
	if err := load.CreateTopics(broker.Address, layout.Partitions, layout.Names()...); err != nil {
		return err
	}
	all := int64(b.size.restart) << 30
	what := fmt.Sprintf("restart, %d partitions, %d GiB, ", layout.Topics*layout.Partitions, b.size.restart)
	if err := b.fillAndKill(broker, layout, all); err != nil {
		return err
	}
	if err := b.again(broker, layout, what+"warm", 2); err != nil {
		return err
	}
	if err := b.fillAndKill(broker, layout, all/10); err != nil {
		return err
	}
	files, err := broker.Files()
	if err != nil {
		return err
	}
	if err := dropCaches(files); err != nil {
		return err
	}
	return b.again(broker, layout, what+"cold", 5)
}

func (b *bench) fillAndKill(broker *peer.Broker, layout load.Layout, bytes int64) error {
	began := time.Now()
	fill := load.StartFill(broker.Address, layout, bytes)
	select {
	case <-fill.Enough():
	case <-fill.Ended():
		return errors.Join(errors.New("the load ended before it had written enough"), fill.Err())
	}
	note("  %s: %d MiB in %v", broker.Kind.Name, fill.Bytes()>>20, time.Since(began).Round(100*time.Millisecond))
	if err := broker.Kill(); err != nil {
		return err
	}
	<-fill.Ended()
	return nil
}

// again launches the broker and waits until all partitions take records.
func (b *bench) again(broker *peer.Broker, layout load.Layout, what string, seconds float64) error {
	began := time.Now()
	if err := broker.Launch(); err != nil {
		return err
	}
	first, last, err := load.AwaitAll(broker.Address, layout)
	if err != nil {
		return err
	}
	u, err := broker.Usage()
	if err != nil {
		return err
	}
	b.report.add(what+", s until one takes records", broker.Kind.Name, first.Sub(began).Seconds(), goal{})
	b.report.add(what+", s until all do", broker.Kind.Name, last.Sub(began).Seconds(), goal{atMost: seconds})
	b.report.add(what+", resident MiB", broker.Kind.Name, u.Resident, goal{atMost: 150})
	note("  %s: %s: first %v, all %v, CPU %v, %.0f MiB", broker.Kind.Name, what, first.Sub(began), last.Sub(began), u.CPU, u.Resident)
	if said := broker.Said("logs were checked"); said != "" {
		note("  %s", said)
	}
	return nil
}
