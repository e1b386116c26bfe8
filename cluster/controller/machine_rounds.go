package controller

import (
	"slices"
	"time"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// electionsMax bounds the elections of one round, which are one transaction; Kafka holds as many. What is left is for the
// next tick.
const electionsMax = 1000

// steadyFor is how long a broker serves before leaderships go back to it by themselves: each costs its clients an error,
// and a broker that keeps falling out would take them along every time. A shorter interval of the rounds shortens it.
const steadyFor = 30 * time.Second

// rounds are when the controller next looks over all partitions by itself.
type rounds struct{ balance, unclean time.Time }

// next is the earliest of the rounds that there are and of another time; the zero time is never.
func (r rounds) next(o Options, other time.Time) time.Time {
	if o.BalanceEvery > 0 && (other.IsZero() || r.balance.Before(other)) {
		other = r.balance
	}
	if o.UncleanEvery > 0 && (other.IsZero() || r.unclean.Before(other)) {
		other = r.unclean
	}
	return other
}

// round gives the elections that are due. A round that was cut off goes on at the next tick.
func (m *Machine) round(at At) []record.Record {
	if every := m.options.BalanceEvery; every > 0 && !at.Time.Before(m.rounds.balance) {
		records := m.balance(at)
		if len(records) < electionsMax {
			m.rounds.balance = at.Time.Add(every)
		}
		if len(records) > 0 {
			return records
		}
	}
	if every := m.options.UncleanEvery; every > 0 && !at.Time.Before(m.rounds.unclean) {
		records := m.rescue()
		if len(records) < electionsMax {
			m.rounds.unclean = at.Time.Add(every)
		}
		return records
	}
	return nil
}

// balance gives leaderships back to first replicas that are in sync and have served for a while. While a broker stops there
// is none of it: in a restart of all, one after the other, each leadership would move twice as often.
func (m *Machine) balance(at At) []record.Record {
	if m.current.BrokerCount() < 2 {
		return nil
	}
	for b := range m.current.Brokers() {
		if b.InControlledShutdown && !b.Fenced {
			return nil
		}
	}
	return m.electWhere(func(t *image.Topic, n int32, p *image.Partition) *record.PartitionChange {
		first := p.Replicas[0]
		if p.Leader == first || p.Leader == model.NoBroker || !slices.Contains(p.ISR, first) || !m.steady(at, first) {
			return nil
		}
		change, err := m.elect(t, n, false)
		if err != nil { // its directory is offline
			return nil
		}
		return change
	})
}

// steady tells whether a broker has served for a while, as far as this controller knows.
func (m *Machine) steady(at At, id model.BrokerID) bool {
	s, ok := m.sessions[id]
	return ok && m.active(id) && at.Time.Sub(s.serving) >= min(steadyFor, m.options.BalanceEvery)
}

// rescue elects where nobody leads and unclean elections are allowed. A change of the settings does that at once; what is
// left is a controller whose own file allows them, and that of the one before it did not.
func (m *Machine) rescue() []record.Record {
	return m.electWhere(func(t *image.Topic, n int32, p *image.Partition) *record.PartitionChange {
		if p.Leader != model.NoBroker || m.topicValue(t.Name, uncleanKey) != "true" {
			return nil
		}
		return m.change(t, n).record()
	})
}

// electWhere asks for a change of each partition, until the round is full.
func (m *Machine) electWhere(want func(*image.Topic, int32, *image.Partition) *record.PartitionChange) []record.Record {
	var records []record.Record
	for t := range m.current.Topics("") {
		for n, p := range t.Partitions {
			if len(records) == electionsMax {
				return records
			}
			records = appendChange(records, want(t, int32(n), p))
		}
	}
	return records
}

// count looks at elections in the state before them.
func (m *Machine) count(records []record.Record) {
	for _, r := range records {
		c, ok := r.(*record.PartitionChange)
		if !ok || c.Leader < 0 {
			continue
		}
		t, ok := m.current.TopicByID(c.TopicID)
		if !ok {
			continue
		}
		p, ok := t.Partition(c.PartitionID)
		switch {
		case !ok || p.Leader == c.Leader || slices.Contains(p.ISR, c.Leader):
		case slices.Contains(p.ELR, c.Leader):
			m.counts.FromELR++
		case c.LeaderRecoveryState == record.Recovering || p.LeaderRecoveryState == record.Recovering:
			m.counts.Unclean++
		}
	}
}
