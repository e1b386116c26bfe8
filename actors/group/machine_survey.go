package group

import "troupe/internal/model"

// Overview is a group as it is committed, for metrics.
type Overview struct {
	ID          string
	State, Type string // as ListGroups names them
	Commits     []Commit
}

// Commit is an offset that a group has committed.
type Commit struct {
	At     model.TopicPartition
	Offset model.Offset
}

// Survey tells of each group, in no order.
func (m *Machine) Survey() []Overview {
	all := make([]Overview, 0, m.groups.Len())
	m.groups.EachCommitted(func(id string, g group) {
		all = append(all, Overview{ID: id, State: g.status(), Type: g.kind(), Commits: commitsOf(g)})
	})
	return all
}

func commitsOf(g group) []Commit {
	all := make([]Commit, 0, g.base().offsets.Len())
	g.base().offsets.EachCommitted(func(p partition, c *committed) {
		all = append(all, Commit{model.TopicPartition{Topic: p.topic, Partition: p.number}, model.Offset(c.offset)})
	})
	return all
}
