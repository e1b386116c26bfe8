package assign

import (
	"fmt"
	"testing"

	"troupe/internal/model"
)

// large is 1,000 members over topics with partitions each. Every member is subscribed to all of them, or to those of a
// window that moves with its number. Its current assignment is a former one of 999 members.
func large(topics, partitions int, alike bool) Input {
	in := Input{Topics: map[model.TopicID]Topic{}}
	var all []model.TopicID
	for n := range topics {
		in.Topics[topic(n)] = Topic{ID: topic(n), Partitions: partitions}
		all = append(all, topic(n))
	}
	for n := range 1000 {
		m := Member{ID: fmt.Sprintf("m%04d", n), Topics: all}
		if !alike {
			from := n * topics / 2000
			m.Topics = all[from : from+topics/2]
		}
		in.Members = append(in.Members, m)
	}
	fewer := in
	fewer.Members = in.Members[1:]
	former := uniformAssignor{}.Assign(fewer)
	for i := range in.Members {
		in.Members[i].Current = former[in.Members[i].ID]
	}
	return in
}

func BenchmarkAssign(b *testing.B) {
	for _, c := range []struct {
		title              string
		topics, partitions int
		alike              bool
	}{
		{"1000 partitions", 10, 100, true},
		{"10000 partitions", 100, 100, true},
		{"10000 partitions of 500 topics", 500, 20, true},
		{"10000 partitions, subscriptions differ", 100, 100, false},
	} {
		in := large(c.topics, c.partitions, c.alike)
		for _, a := range []Assignor{uniformAssignor{}, rangeAssignor{}} {
			b.Run(a.Name()+", "+c.title, func(b *testing.B) {
				for b.Loop() {
					a.Assign(in)
				}
			})
		}
	}
	b.Run("uniform, the first assignment of 10000 partitions", func(b *testing.B) {
		in := large(100, 100, true)
		for i := range in.Members {
			in.Members[i].Current = nil
		}
		for b.Loop() {
			uniformAssignor{}.Assign(in)
		}
	})
}
