package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/actors/lag"
)

// groupsAnswer is what GET /groups gives: the groups that are coordinated here, the furthest behind first.
type groupsAnswer struct {
	At       int64      `json:"at"`       // Unix time in milliseconds
	Measured int64      `json:"measured"` // when the lags of the list were measured, likewise; 0 for not yet
	Total    int        `json:"total"`    // groups that match=
	Groups   []groupRow `json:"groups"`
}

// groupRow is a group of the list.
type groupRow struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Type    string `json:"type"`
	Members int    `json:"members"`
	lagRow
}

// lagRow is how far behind a reader is, null where that is not known: LagMs is the age of the oldest record that it has not
// read, 0 when it has read all.
type lagRow struct {
	Lag   *int64 `json:"lag"` // records
	LagMs *int64 `json:"lagMs"`
}

func lagOf(records int64, age time.Duration, dated bool) lagRow {
	l := lagRow{Lag: &records}
	if dated {
		ms := age.Milliseconds()
		l.LagMs = &ms
	}
	return l
}

// compare puts the one first that is further behind in time, then in records; what is not known comes last.
func (l lagRow) compare(o lagRow) int {
	of := func(v *int64) int64 {
		if v == nil {
			return -1
		}
		return *v
	}
	return cmp.Or(cmp.Compare(of(o.LagMs), of(l.LagMs)), cmp.Compare(of(o.Lag), of(l.Lag)))
}

// groups lists the groups, or with name= tells all of one (groupDetail).
func (s *Server) groups(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := rows(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), askMost)
	defer cancel()
	if name := q.Get("name"); name != "" {
		s.group(ctx, w, name)
		return
	}
	a := groupsAnswer{At: s.deps.Node.Clock.Now().UnixMilli(), Groups: []groupRow{}}
	lags := map[string]lag.Group{}
	if report := s.deps.Lag.Last(); report != nil {
		a.Measured = report.At.UnixMilli()
		for _, g := range report.Groups {
			lags[g.ID] = g
		}
	}
	for _, e := range s.roster(ctx, q.Get("match")) {
		row := groupRow{ID: e.ID, State: e.State, Type: e.Type, Members: e.Members}
		if g, known := lags[e.ID]; known {
			row.lagRow = lagOf(g.Sum, g.Age, g.Dated)
		}
		a.Groups = append(a.Groups, row)
	}
	a.Total = len(a.Groups)
	slices.SortFunc(a.Groups, func(a, b groupRow) int { return cmp.Or(a.compare(b.lagRow), cmp.Compare(a.ID, b.ID)) })
	a.Groups = a.Groups[:min(limit, a.Total)]
	answer(w, a)
}

// roster asks the coordinators here. Those that are loading have nothing to tell.
func (s *Server) roster(ctx context.Context, match string) (all []group.Entry) {
	partitions := s.deps.Node.Groups.Directory.Partitions()
	for _, entries := range collect(ctx, len(partitions), func(i int, give func([]group.Entry)) {
		lookInto(s.deps.Node.Groups.Directory, partitions[i], func(m *group.Machine) []group.Entry { return m.Roster(match) }, give)
	}) {
		all = append(all, entries...)
	}
	return all
}

// lookInto has the machine of a partition read on its actor. give gets the zero value where there is none.
func lookInto[T any](d *coordinator.Directory, partition int32, read func(*group.Machine) T, give func(T)) {
	var found T
	d.Look(partition, &coordinator.Look{
		Read:  func(m coordinator.Machine) { found = read(m.(*group.Machine)) },
		Reply: kit.NewReply(func(bool, error) { give(found) }),
	})
}

// askMost bounds the wait for actors: the page asks again soon.
const askMost = 2 * time.Second

// collect asks n actors and gives what they answered in time, in no order.
func collect[T any](ctx context.Context, n int, ask func(i int, give func(T))) []T {
	answers := make(chan T, n) // holds all, so that nobody who answers too late is kept
	for i := range n {
		ask(i, func(v T) { answers <- v })
	}
	var all []T
	for range n {
		select {
		case v := <-answers:
			all = append(all, v)
		case <-ctx.Done():
			return all
		}
	}
	return all
}
