package lag

import (
	"maps"
	"slices"

	"troupe/actors/group"
	"troupe/internal/model"
)

// Options bound what a report keeps.
type Options struct {
	SeriesMax  int  // group.lag.series.max: of groups, and of partitions
	Partitions bool // group.lag.partitions: tell of partitions too
}

// Machine decides which brokers are asked about which offsets, keeps what they said, and adds it up. It goes in rounds:
//
//	Begin     what the coordinators here have committed, to one question a broker
//	Answered  for each answer that comes, in any order; a broker that says nothing leaves its partitions unknown
//	Report    whatever is there by then, any number of times
//
// Invariants:
//  1. an answer counts in the round in which it was asked for, or not at all;
//  2. the time of a record is asked for once: as long as no group moves, a round asks for ends alone;
//  3. what is kept is of partitions and offsets that some group has committed in this round.
type Machine struct {
	options Options
	groups  []group.Overview
	logs    map[model.TopicPartition]*log
	round   uint64
}

// log is what is known of a partition.
type log struct {
	round      uint64 // in which a group had an offset in it
	told       bool   // in this round
	start, end model.Offset
	offsets    []model.Offset // of this round's groups, until stamps are made of them
	stamps     []stamp        // by rising offset
}

// stamp is the time of the record that a reader at an offset finds first.
type stamp struct {
	offset model.Offset
	record model.Offset // model.NoOffset while no time is known
	ms     int64
	round  uint64 // in which it was told
}

// NewMachine makes one that knows nothing.
func NewMachine(o Options) *Machine {
	return &Machine{options: o, logs: map[model.TopicPartition]*log{}}
}

// Ask is a question to a broker.
type Ask struct {
	Broker     model.BrokerID
	Partitions []Wanted
}

// Begin opens a round. leader is who leads a partition, negative for nobody.
func (m *Machine) Begin(groups []group.Overview, leader func(model.TopicPartition) model.BrokerID) []Ask {
	m.round++
	m.groups = groups
	for _, g := range groups {
		for _, c := range g.Commits {
			m.want(c)
		}
	}
	byBroker := map[model.BrokerID]*Ask{}
	for _, at := range slices.SortedFunc(maps.Keys(m.logs), model.TopicPartition.Compare) {
		l := m.logs[at]
		if l.round != m.round {
			delete(m.logs, at)
			continue
		}
		l.settle(m.round)
		b := leader(at)
		if b < 0 {
			continue
		}
		if byBroker[b] == nil {
			byBroker[b] = &Ask{Broker: b}
		}
		byBroker[b].Partitions = append(byBroker[b].Partitions, Wanted{At: at, Points: l.points()})
	}
	asks := make([]Ask, 0, len(byBroker))
	for _, b := range slices.Sorted(maps.Keys(byBroker)) {
		asks = append(asks, *byBroker[b])
	}
	return asks
}

func (m *Machine) want(c group.Commit) {
	l := m.logs[c.At]
	if l == nil {
		l = &log{}
		m.logs[c.At] = l
	}
	if l.round != m.round {
		l.round, l.told, l.offsets = m.round, false, l.offsets[:0]
	}
	l.offsets = append(l.offsets, c.Offset)
}

// refresh is how many rounds a time is believed. Compaction may take the record in the meantime, and a leader that was
// elected out of sync may have another one.
const refresh = 60

// settle keeps the stamps that are still wanted and makes empty ones for new offsets.
func (l *log) settle(round uint64) {
	slices.Sort(l.offsets)
	l.offsets = slices.Compact(l.offsets)
	stamps := make([]stamp, 0, len(l.offsets))
	old := l.stamps
	for _, o := range l.offsets {
		for len(old) > 0 && old[0].offset < o {
			old = old[1:]
		}
		if len(old) > 0 && old[0].offset == o && round-old[0].round < refresh {
			stamps = append(stamps, old[0])
			continue
		}
		stamps = append(stamps, stamp{offset: o, record: model.NoOffset})
	}
	l.stamps = stamps
}

func (l *log) points() []Point {
	points := make([]Point, len(l.stamps))
	for i, s := range l.stamps {
		points[i] = Point{Offset: s.offset, Known: s.record}
	}
	return points
}

// Answered takes what a broker said.
func (m *Machine) Answered(answers []Answer) {
	for _, a := range answers {
		l := m.logs[a.At]
		if l == nil || l.round != m.round || len(a.Times) != len(l.stamps) {
			continue
		}
		l.told, l.start, l.end = true, a.Start, a.End
		for i := range l.stamps {
			l.stamps[i].take(a.Times[i], a.Start, m.round)
		}
	}
}

func (s *stamp) take(ms int64, start model.Offset, round uint64) {
	switch ms {
	case Unchanged:
	case Timeless:
		s.record = model.NoOffset
	default:
		s.record, s.ms, s.round = max(s.offset, start), ms, round
	}
}
