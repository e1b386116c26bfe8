package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/actors/lag"
	"troupe/internal/model"
)

// groupDetail is what GET /groups?name= gives of one group. Its lags are of this moment.
type groupDetail struct {
	At int64 `json:"at"` // Unix time in milliseconds
	groupRow
	Epoch      int32       `json:"epoch"` // the generation of a classic group
	Assignor   string      `json:"assignor"`
	Seats      []seatRow   `json:"seats"`
	Partitions []readerRow `json:"partitions"`
}

// seatRow is a member; its lags are of all partitions that it has.
type seatRow struct {
	ID         string `json:"id"`
	Instance   string `json:"instance,omitempty"`
	ClientID   string `json:"clientId"`
	Host       string `json:"host"`
	Epoch      int32  `json:"epoch"`
	Partitions int    `json:"partitions"`
}

// readerRow is a partition that the group has an offset in, or that a member of it reads. Offsets are null where there is
// none, or where no leader told.
type readerRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed *int64 `json:"committed"`
	End       *int64 `json:"end"` // what consumers may read up to
	lagRow
	Member string `json:"member,omitempty"` // the id of who reads it
}

// group asks the group's coordinator, and then the leaders of the partitions that it reads.
func (s *Server) group(ctx context.Context, w http.ResponseWriter, name string) {
	t, there := s.deps.Node.Image().Topic(api.OffsetsTopic)
	var found []*group.Detail
	if there {
		at := coordinator.PartitionFor(name, len(t.Partitions))
		found = collect(ctx, 1, func(_ int, give func(*group.Detail)) {
			lookInto(s.deps.Node.Groups.Directory, at, func(m *group.Machine) *group.Detail {
				if d, is := m.Detail(name); is {
					return &d
				}
				return nil
			}, give)
		})
	}
	if len(found) == 0 || found[0] == nil {
		http.Error(w, "no group "+name+" is coordinated here", http.StatusNotFound)
		return
	}
	d := found[0]
	now := s.deps.Node.Clock.Now()
	a := groupDetail{
		At: now.UnixMilli(), groupRow: groupRow{ID: d.ID, State: d.State, Type: d.Type, Members: d.Members},
		Epoch: d.Epoch, Assignor: d.Assignor, Seats: []seatRow{}, Partitions: readers(d, s.ends(ctx, d.Commits), now),
	}
	for _, m := range d.Seats {
		a.Seats = append(a.Seats, seatRow{m.ID, m.Instance, m.ClientID, strings.TrimPrefix(m.Host, "/"), m.Epoch, len(m.Partitions)})
	}
	a.lagRow = together(a.Partitions)
	answer(w, a)
}

// readers puts committed offsets, ends and members together, by partition.
func readers(d *group.Detail, ends map[model.TopicPartition]lag.Answer, now time.Time) []readerRow {
	rows := map[model.TopicPartition]readerRow{}
	for _, c := range d.Commits {
		row := readerRow{Topic: c.At.Topic, Partition: c.At.Partition, Committed: (*int64)(&c.Offset)}
		if e, told := ends[c.At]; told {
			row.End = (*int64)(&e.End)
			b := e.Behind(c.Offset, e.Times[0], now)
			row.lagRow = lagOf(b.Records, b.Age, b.Dated)
		}
		rows[c.At] = row
	}
	for _, m := range d.Seats {
		for _, at := range m.Partitions {
			row := rows[at]
			row.Topic, row.Partition, row.Member = at.Topic, at.Partition, m.ID
			rows[at] = row
		}
	}
	all := make([]readerRow, 0, len(rows))
	// any order: the list is sorted below.
	for _, row := range rows {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b readerRow) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all
}

// ends asks the leaders of partitions, with the offset that was committed in each.
func (s *Server) ends(ctx context.Context, commits []group.Commit) map[model.TopicPartition]lag.Answer {
	wanted := map[model.BrokerID][]lag.Wanted{}
	var brokers []model.BrokerID
	for _, c := range commits {
		p, there := s.deps.Node.Image().Partition(c.At)
		if !there || p.Leader == model.NoBroker {
			continue
		}
		if wanted[p.Leader] == nil {
			brokers = append(brokers, p.Leader)
		}
		point := lag.Point{Offset: c.Offset, Known: model.NoOffset}
		wanted[p.Leader] = append(wanted[p.Leader], lag.Wanted{At: c.At, Points: []lag.Point{point}})
	}
	ends := map[model.TopicPartition]lag.Answer{}
	for _, answers := range collect(ctx, len(brokers), func(i int, give func([]lag.Answer)) {
		s.deps.Lag.Ask(brokers[i], &lag.Question{Partitions: wanted[brokers[i]], Reply: kit.NewReply(func(a []lag.Answer, _ error) { give(a) })})
	}) {
		for _, a := range answers {
			ends[a.At] = a
		}
	}
	return ends
}

// together adds up what is known of the partitions: records in all of them, and the greatest age.
func together(rows []readerRow) (sum lagRow) {
	for _, r := range rows {
		if r.Lag == nil {
			continue
		}
		if sum.Lag == nil {
			sum.Lag = new(int64)
		}
		*sum.Lag += *r.Lag
		if r.LagMs != nil && (sum.LagMs == nil || *r.LagMs > *sum.LagMs) {
			sum.LagMs = r.LagMs
		}
	}
	return sum
}
