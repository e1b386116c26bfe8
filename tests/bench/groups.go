package main

import (
	"errors"
	"fmt"
	"time"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// groups measures the group coordinator: large groups, many groups, commits, and loading what was committed.
func groups(b *bench) error {
	return b.each(joins, manyGroups, commits, loading)
}

// crowded is the topic of large groups: a partition a member.
const crowded = "crowded"

// Members of the large groups are silent for a session at most, and send heartbeats so often.
const (
	crowdSession  = 6 * time.Second
	crowdInterval = 500 * time.Millisecond
	crowdMortal   = 100 // members of the group of which one dies
)

// enough is how long the rounds of one figure may take before no further one is begun: Kafka needs half a minute for
// some that take Troupe a second, and they hardly differ.
const enough = 30 * time.Second

// repeat measures in rounds, fewer where they are long.
func (b *bench) repeat(round func(n int) error) error {
	began := time.Now()
	for n := range b.rounds {
		if n > 0 && time.Since(began) > enough {
			break
		}
		if err := round(n); err != nil {
			return err
		}
	}
	return nil
}

// withBroker runs a part on a fresh broker that coordinates groups.
func (b *bench) withBroker(k peer.Kind, do func(*peer.Broker) error, settings ...string) error {
	return b.fresh(k, func(broker *peer.Broker) error {
		if _, err := load.AwaitCoordinator(broker.Address, "any"); err != nil {
			return err
		}
		return do(broker)
	}, settings...)
}

// joins has a large group join with and without the initial delay, by both protocols, and a member of another die.
func joins(b *bench, k peer.Kind) error {
	what := fmt.Sprintf("%d members of one group join, ", b.members)
	err := b.withBroker(k, func(broker *peer.Broker) error {
		if err := load.CreateTopics(broker.Address, b.members, crowded); err != nil {
			return err
		}
		if err := b.crowdJoins(broker, what+"without delay, s", goal{atMost: 2}); err != nil {
			return err
		}
		return b.memberDies(broker)
	}, "group.initial.rebalance.delay.ms=0")
	if err != nil {
		return err
	}
	return b.withBroker(k, func(broker *peer.Broker) error {
		if err := load.CreateTopics(broker.Address, b.members, crowded); err != nil {
			return err
		}
		if err := b.crowdJoins(broker, what+"default delay, s", goal{atMost: 8}); err != nil {
			return err
		}
		return b.repeat(func(round int) error {
			took, err := load.Assemble(broker.Address, fmt.Sprint("assembly-", round), crowded, b.members, b.members)
			if errors.Is(err, load.ErrNoConsumerProtocol) {
				note("  %s: the consumer protocol is switched off", k.Name)
				return nil
			}
			if err != nil {
				return err
			}
			note("  %s: %sconsumer protocol: %v", k.Name, what, took)
			b.report.add(what+"consumer protocol, s", k.Name, took.Seconds(), goal{atMost: 12})
			return nil
		})
	})
}

// crowdJoins has connections made beforehand: what is measured is the group, not the listener.
func (b *bench) crowdJoins(broker *peer.Broker, what string, g goal) error {
	return b.repeat(func(round int) error {
		crowd, err := load.NewCrowd(broker.Address, fmt.Sprint("crowd-", round), crowded, b.members, 45*time.Second, crowdInterval)
		if err != nil {
			return err
		}
		took, err := crowd.Join()
		if err = errors.Join(err, crowd.Stop()); err != nil {
			return err
		}
		note("  %s: %s: %v", broker.Kind.Name, what, took)
		b.report.add(what, broker.Kind.Name, took.Seconds(), g)
		return nil
	})
}

// memberDies takes the time from the death until the others have its partition.
func (b *bench) memberDies(broker *peer.Broker) error {
	return b.repeat(func(round int) error {
		crowd, err := load.NewCrowd(broker.Address, fmt.Sprint("mortal-", round), crowded, crowdMortal, crowdSession, crowdInterval)
		if err != nil {
			return err
		}
		_, err = crowd.Join()
		var took time.Duration
		if err == nil {
			took, err = crowd.Bury()
		}
		if err = errors.Join(err, crowd.Stop()); err != nil {
			return err
		}
		what := fmt.Sprintf("one of %d members dies, session %v, heartbeats each %v, until others have its part, s", crowdMortal, crowdSession, crowdInterval)
		note("  %s: %s: %v", broker.Kind.Name, what, took)
		b.report.add(what, broker.Kind.Name, took.Seconds(), goal{atMost: (crowdSession + crowdInterval + 300*time.Millisecond).Seconds()})
		return nil
	})
}

// manyGroups watches a broker whose groups do nothing but heartbeat.
func manyGroups(b *bench, k peer.Kind) error {
	const connections, interval = 100, 3 * time.Second
	return b.withBroker(k, func(broker *peer.Broker) (err error) {
		flock, err := load.GatherFlock(broker.Address, b.groups, connections)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, flock.Stop()) }()
		flock.Beat(interval)
		<-time.After(2 * interval)
		before := flock.Answered()
		m, err := observe(broker, func() (load.Done, error) {
			<-time.After(b.idle)
			return load.Done{}, nil
		})
		if err != nil {
			return err
		}
		rate := float64(flock.Answered()-before) / b.idle.Seconds()
		what := fmt.Sprintf("%d groups of 3, heartbeats each %v over %d connections, ", b.groups, interval, connections)
		share := 100 * m.cpu.Seconds() / b.idle.Seconds()
		note("  %s: %s%.0f/s: %.1f %% of a core, %.0f MiB", k.Name, what, rate, share, m.resident)
		b.report.add(what+"% of a core", k.Name, share, goal{atMost: 20})
		b.report.add(what+"resident MiB", k.Name, m.resident, goal{atMost: 300})
		b.report.add(what+"heartbeats/s", k.Name, rate, goal{})
		return nil
	}, "group.initial.rebalance.delay.ms=50")
}

// commits measures how fast offsets are committed.
func commits(b *bench, k peer.Kind) error {
	return b.withBroker(k, func(broker *peer.Broker) error {
		if err := load.CreateTopics(broker.Address, 1, "read"); err != nil {
			return err
		}
		for _, l := range []struct {
			name string
			load.Commits
		}{
			{"offset commits, one connection, 8 in flight, ", load.Commits{Connections: 1, InFlight: 8}},
			{"offset commits, 50 connections, ", load.Commits{Connections: 50, InFlight: 1}},
		} {
			if _, err := l.Run(broker.Address, "read", b.load); err != nil { // warms up
				return err
			}
			for range b.rounds {
				m, err := observe(broker, func() (load.Done, error) { return l.Run(broker.Address, "read", b.load/2) })
				if err != nil {
					return err
				}
				note("  %s: %s%.0f/s, p99 %v", k.Name, l.name, m.Rate(), m.Latency.Quantile(.99))
				b.report.add(l.name+"/s", k.Name, m.Rate(), goal{ratioAtLeast: 3})
				b.report.add(l.name+"CPU µs each", k.Name, float64(m.cpu.Microseconds())/float64(m.Requests), goal{})
			}
		}
		return nil
	})
}

// loading takes the time that a coordinator needs after a kill of its broker, from the first answer of the broker on. The
// time from the launch has, for Kafka, the rest of the session of the broker that was killed (broker.session.timeout.ms,
// 9 s): until then its successor is refused as DUPLICATE_BROKER_REGISTRATION.
func loading(b *bench, k peer.Kind) error {
	const partitions = 100
	return b.withBroker(k, func(broker *peer.Broker) error {
		if err := load.CreateTopics(broker.Address, partitions, "read"); err != nil {
			return err
		}
		done, err := load.FillOffsets(broker.Address, "read", partitions, b.groups, 1)
		if err != nil {
			return err
		}
		note("  %s: %d commits of %d groups in %v", k.Name, b.groups*partitions, b.groups, done.Took)
		return b.repeat(func(int) error {
			if err := broker.Kill(); err != nil {
				return err
			}
			began := time.Now()
			if err := broker.Launch(); err != nil {
				return err
			}
			answered, err := load.AwaitCoordinator(broker.Address, "group-0")
			if err != nil {
				return err
			}
			took := time.Since(answered)
			what := fmt.Sprintf("a coordinator loads %d commits of %d groups, ", b.groups*partitions, b.groups)
			note("  %s: %s%v after the broker answers, %v after the launch", k.Name, what, took, time.Since(began))
			b.report.add(what+"s from the first answer", k.Name, took.Seconds(), goal{atMost: 2})
			b.report.add(what+"s from the launch", k.Name, time.Since(began).Seconds(), goal{})
			return nil
		})
	}, "offsets.topic.num.partitions=1")
}
