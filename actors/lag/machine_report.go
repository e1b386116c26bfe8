package lag

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"troupe/actors/group"
	"troupe/internal/model"
)

// Report is how the groups that are coordinated here stood at the end of a round. It is immutable.
type Report struct {
	At time.Time
	// Groups are those with offsets of which a leader told, the furthest behind first, at most Options.SeriesMax.
	Groups        []Group
	GroupsOmitted int
	// Partitions are those of all groups, likewise; none unless they are asked for.
	Partitions        []Partition
	PartitionsOmitted int
	// Unknown counts the committed offsets of partitions of which no leader told.
	Unknown int
	// Kinds counts the groups.
	Kinds map[Kind]int
	// Offsets counts the committed offsets.
	Offsets int
	// Coordinators counts the partitions of groups that are coordinated here.
	Coordinators Coordinators
}

// Coordinators counts partitions by how their coordinators are. Only active ones tell of their groups.
type Coordinators struct{ Active, Loading, Failed int }

// Kind is a group's type and state, as ListGroups names them.
type Kind struct{ Type, State string }

// Behind is how far behind a reader is.
type Behind struct {
	Records int64
	// Age is that of the oldest record that was not read, 0 when there is none; meaningless unless Dated.
	Age   time.Duration
	Dated bool
}

// Group has the greatest lag of its partitions, in records and in time.
type Group struct {
	ID string
	Behind
	Sum int64 // records in all its partitions
}

// Partition is one of a group.
type Partition struct {
	Group string
	At    model.TopicPartition
	Behind
}

// Report adds up what is known.
func (m *Machine) Report(now time.Time) *Report {
	r := &Report{At: now, Kinds: map[Kind]int{}}
	for i := range m.groups {
		g := &m.groups[i]
		r.Kinds[Kind{g.Type, g.State}]++
		r.Offsets += len(g.Commits)
		m.reportGroup(r, g, now)
	}
	r.Groups, r.GroupsOmitted = worst(r.Groups, m.options.SeriesMax, func(a, b Group) int {
		return cmp.Or(a.Behind.compare(b.Behind), strings.Compare(a.ID, b.ID))
	})
	r.Partitions, r.PartitionsOmitted = worst(r.Partitions, m.options.SeriesMax, func(a, b Partition) int {
		return cmp.Or(a.Behind.compare(b.Behind), strings.Compare(a.Group, b.Group), a.At.Compare(b.At))
	})
	return r
}

func (m *Machine) reportGroup(r *Report, g *group.Overview, now time.Time) {
	sum := Group{ID: g.ID}
	known := false
	for _, c := range g.Commits {
		l := m.logs[c.At]
		if !l.told {
			r.Unknown++
			continue
		}
		b := l.behind(c.Offset, now)
		known = true
		sum.Records, sum.Sum = max(sum.Records, b.Records), sum.Sum+b.Records
		// A partition without times does not hide how late the others are.
		if b.Dated {
			sum.Age, sum.Dated = max(sum.Age, b.Age), true
		}
		if m.options.Partitions {
			r.Partitions = append(r.Partitions, Partition{g.ID, c.At, b})
		}
	}
	if known {
		r.Groups = append(r.Groups, sum)
	}
}

// behind measures from an offset that some group has committed in this round.
func (l *log) behind(o model.Offset, now time.Time) Behind {
	ms := Timeless
	i := sort.Search(len(l.stamps), func(i int) bool { return l.stamps[i].offset >= o })
	if s := l.stamps[i]; s.record != model.NoOffset {
		ms = s.ms
	}
	return Answer{Start: l.start, End: l.end}.Behind(o, ms, now)
}

// Behind measures from an offset to the end; ms is the time of the record that a reader finds there first, or Timeless. An
// offset beyond the end, of a log that was cut or a topic that was made anew, is not behind; a record of the future, by its
// producer's clock, is of this moment. What retention took counts as not read, as Kafka's tools have it, but keeps nobody
// waiting.
func (a Answer) Behind(o model.Offset, ms int64, now time.Time) Behind {
	b := Behind{Records: max(0, int64(a.End-o))}
	switch {
	case max(o, a.Start) >= a.End:
		b.Dated = true
	case ms != Timeless:
		b.Age, b.Dated = max(0, now.Sub(time.UnixMilli(ms))), true
	}
	return b
}

// compare puts the one first that is further behind in time, then in records.
func (b Behind) compare(o Behind) int {
	return cmp.Or(cmp.Compare(o.Age, b.Age), cmp.Compare(o.Records, b.Records))
}

// worst keeps the first most in an order, and tells how many are left out.
func worst[T any](all []T, most int, order func(a, b T) int) ([]T, int) {
	slices.SortFunc(all, order)
	omitted := max(0, len(all)-most)
	return slices.Clip(all[:len(all)-omitted]), omitted
}
