package main

import (
	"errors"
	"fmt"
	"time"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

const (
	sessionPartitions = 1000
	sessionRate       = 50 // records a second over all partitions
)

// sessions measures consumers with fetch sessions over many partitions of which few get records: what an answered
// fetch costs, and what waiting costs when nothing is produced.
func sessions(b *bench) error {
	return b.each(func(b *bench, k peer.Kind) error { return b.fresh(k, b.watched) })
}

func (b *bench) watched(broker *peer.Broker) (err error) {
	const topic = "watched"
	if err := load.CreateTopics(broker.Address, sessionPartitions, topic); err != nil {
		return err
	}
	consumers, err := load.OpenSessions(broker.Address, topic, b.size.sessions, sessionPartitions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, consumers.Stop()) }()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- load.Trickle(broker.Address, topic, sessionPartitions, sessionRate, stop) }()
	<-time.After(b.load) // warms up
	with, _ := consumers.Answered()
	m, err := observe(broker, func() (load.Done, error) {
		<-time.After(2 * b.load)
		return load.Done{}, nil
	})
	close(stop)
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	now, _ := consumers.Answered()
	what := fmt.Sprintf("%d sessions of %d partitions", b.size.sessions, sessionPartitions)
	b.report.add(what+", CPU µs a fetch", broker.Kind.Name, float64(m.cpu.Microseconds())/float64(now-with), goal{ratioAtMost: 0.25})
	b.report.add(what+", fetches/s", broker.Kind.Name, float64(now-with)/(2*b.load).Seconds(), goal{})
	return b.watchIdle(broker, "these sessions, nothing produced", goal{}, goal{atMost: 1})
}
