package main

import (
	"errors"
	"fmt"
	"time"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// partitions of the topics of loads, of which as many are used as there are connections.
const partitions = 8

// measured is what a load did and what the broker took for it.
type measured struct {
	load.Done
	cpu      time.Duration
	resident float64 // MiB, at its end
}

// cpuPerGB is in seconds.
func (m measured) cpuPerGB() float64 { return m.cpu.Seconds() / m.GB() }

// observe runs a load and reads the broker's account before and after.
func observe(b *peer.Broker, run func() (load.Done, error)) (measured, error) {
	before, err := b.Usage()
	if err != nil {
		return measured{}, err
	}
	done, err := run()
	if err != nil {
		return measured{}, err
	}
	after, err := b.Usage()
	return measured{done, after.CPU - before.CPU, after.Resident}, err
}

// single is one of the loads.
type single struct {
	name   string
	rounds func(*bench) int
	topic  func(round int) string
	run    func(address, topic string, d time.Duration) (load.Done, error)
	tell   func(r *report, contestant string, m measured)
	keep   bool // the topic stays, for the next load
}

func each(b *bench) int    { return b.rounds }
func latency(b *bench) int { return b.size.latency }
func named(s string) func(int) string {
	return func(round int) string { return fmt.Sprintf("%s-%d", s, round) }
}

// big is the topic that is filled with batches of 64 KiB and then fetched.
const big = "big"

var produce1K = load.Produce{Connections: 4, InFlight: 32, BatchBytes: 1024, RecordBytes: 900, Acks: 1}

// singles are the loads in their order.
var singles = []single{
	{
		name: "produce-64K", rounds: each, topic: func(int) string { return big }, keep: true,
		run: func(address, topic string, d time.Duration) (load.Done, error) {
			return load.Produce{Connections: 4, InFlight: 8, BatchBytes: 64 << 10, RecordBytes: 1024, Acks: 1}.Run(address, topic, partitions, d)
		},
		tell: func(r *report, c string, m measured) {
			r.add("produce-64K, CPU s/GB", c, m.cpuPerGB(), goal{ratioAtMost: 0.12})
			r.add("produce-64K, MB/s", c, m.MBps(), goal{ratioAtLeast: 1.5})
		},
	}, {
		name: "produce-1K", rounds: each, topic: named("small"),
		run: func(address, topic string, d time.Duration) (load.Done, error) {
			return produce1K.Run(address, topic, partitions, d)
		},
		tell: func(r *report, c string, m measured) {
			r.add("produce-1K, CPU s/GB", c, m.cpuPerGB(), goal{ratioAtMost: 0.12})
			r.add("produce-1K, requests/s", c, m.Rate(), goal{ratioAtLeast: 3})
		},
	}, {
		name: "fetch", rounds: each, topic: func(int) string { return big }, keep: true,
		run: func(address, topic string, d time.Duration) (load.Done, error) {
			return load.Fetch{Connections: 4, PartitionMax: 1 << 20}.Run(address, topic, partitions, d)
		},
		tell: func(r *report, c string, m measured) {
			r.add("fetch, cached, CPU s/GB", c, m.cpuPerGB(), goal{ratioAtMost: 0.7})
			r.add("fetch, cached, MB/s", c, m.MBps(), goal{})
		},
	}, {
		name: "latency", rounds: latency, topic: named("latency"),
		run: func(address, topic string, d time.Duration) (load.Done, error) {
			return load.Latency{Connections: 4, PerSecond: 2000, RecordBytes: 512, Acks: -1}.Run(address, topic, d)
		},
		tell: func(r *report, c string, m measured) {
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			r.add("latency at 2,000/s, end to end, p50 ms", c, ms(m.EndToEnd.Quantile(.5)), goal{ratioAtMost: 0.5})
			r.add("latency, p99 ms", c, ms(m.EndToEnd.Quantile(.99)), goal{ratioAtMost: 0.5})
			r.add("latency, of that sent late, p50 ms", c, ms(m.Late.Quantile(.5)), goal{})
			r.add("latency, acknowledgement, p50 ms", c, ms(m.Latency.Quantile(.5)), goal{})
			r.add("latency, CPU s in 10 s", c, m.cpu.Seconds()/m.Took.Seconds()*10, goal{ratioAtMost: 0.2})
			r.add("resident after the loads, MiB", c, m.resident, goal{atMost: 64})
		},
	},
}

// mayRest lets a broker be silent for as long as the loads take: it is stopped while the other one is measured, and must
// not count as dead for that. Elsewhere it stays at its default: a broker that was killed is let in again when the
// session of its former life has ended.
const mayRest = "broker.session.timeout.ms=600000"

// loads puts both brokers under each load in turns: one runs while the other is stopped where it is. The first load
// of each kind warms up and is not counted. Both live through all loads.
func loads(b *bench) (err error) {
	var brokers []*peer.Broker
	defer func() {
		for _, broker := range brokers {
			err = errors.Join(err, broker.Remove())
		}
	}()
	for _, k := range b.contestants {
		broker, err := b.broker(k, mayRest)
		if err != nil {
			return err
		}
		brokers = append(brokers, broker)
		if err := broker.Start(); err != nil {
			return err
		}
	}
	for _, broker := range brokers {
		if err := broker.Pause(); err != nil {
			return err
		}
	}
	for _, s := range singles {
		for round := range s.rounds(b) + 1 {
			for _, broker := range brokers {
				if err := b.round(s, round, broker); err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, broker.Kind.Name, err)
				}
			}
		}
	}
	return nil
}

// round runs one load on one broker; round 0 warms up.
func (b *bench) round(s single, round int, broker *peer.Broker) (err error) {
	if err := b.touchMemory(); err != nil {
		return err
	}
	if err := broker.Resume(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Pause()) }()
	topic := s.topic(round)
	if s.name == "produce-64K" && round > 0 { // each round writes to empty logs
		if err := load.DeleteTopic(broker.Address, topic); err != nil {
			return err
		}
	}
	if s.name != "fetch" {
		if err := load.CreateTopics(broker.Address, partitions, topic); err != nil {
			return err
		}
	}
	m, err := observe(broker, func() (load.Done, error) { return s.run(broker.Address, topic, b.load) })
	if err != nil {
		return err
	}
	if !s.keep {
		if err := load.DeleteTopic(broker.Address, topic); err != nil {
			return err
		}
	}
	if round == 0 {
		return nil
	}
	note("  %s round %d, %s: %.0f MB/s, %.3f CPU s/GB, %.0f requests/s, p50 %v, p99 %v, %.0f MiB", s.name, round, broker.Kind.Name,
		m.MBps(), m.cpuPerGB(), m.Rate(), m.Latency.Quantile(.5), m.Latency.Quantile(.99), m.resident)
	s.tell(&b.report, broker.Kind.Name, m)
	if s.name == "produce-64K" && broker.Kind.Name == "troupe" {
		return b.besideDisk(m)
	}
	return nil
}

// besideDisk runs dd for as many bytes as a produce load wrote.
func (b *bench) besideDisk(m measured) error {
	d, err := b.dd(int(m.Bytes / 1e6))
	if err != nil {
		return err
	}
	b.report.add("dd of the same bytes, MB/s", "troupe", d.mbps, goal{})
	b.report.add("dd of the same bytes, CPU s/GB", "troupe", d.cpu, goal{})
	b.report.add("produce-64K, share of dd's MB/s", "troupe", m.MBps()/d.mbps, goal{atLeast: 0.85})
	return nil
}
