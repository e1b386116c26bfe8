package main

import (
	"errors"
	"fmt"
	"time"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// start takes the time from the launch on an empty directory until a produce is acknowledged, and what the broker
// takes when it is then left alone.
func start(b *bench) error {
	for round := range b.size.latency {
		for _, k := range b.contestants {
			if err := b.startOnce(k, round == b.size.latency-1); err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
		}
	}
	return nil
}

func (b *bench) startOnce(k peer.Kind, watch bool) (err error) {
	broker, err := b.broker(k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Remove()) }()
	began := time.Now()
	if err := broker.Launch(); err != nil {
		return err
	}
	if err := load.FirstProduce(broker.Address, "first"); err != nil {
		return err
	}
	b.report.add("start, until a produce is acknowledged, ms", k.Name, float64(time.Since(began).Microseconds())/1000, goal{atMost: 60})
	if !watch {
		return nil
	}
	return b.watchIdle(broker, "idle after the start", goal{atMost: 25}, goal{atMost: 0.5})
}

// settle is how long a broker may still tidy up before it is called idle.
const settle = 5 * time.Second

// watchIdle measures a broker that has nothing to do.
func (b *bench) watchIdle(broker *peer.Broker, what string, memory, share goal) error {
	<-time.After(settle)
	m, err := observe(broker, func() (load.Done, error) {
		<-time.After(b.idle)
		return load.Done{}, nil
	})
	if err != nil {
		return err
	}
	b.report.add(what+", resident MiB", broker.Kind.Name, m.resident, memory)
	b.report.add(what+", % of a core", broker.Kind.Name, 100*m.cpu.Seconds()/b.idle.Seconds(), share)
	return nil
}
