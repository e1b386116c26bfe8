package assign

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/model"
)

// drawn gives a group with a history: what members have may be no more, not theirs any longer, or claimed twice.
func drawn(t *rapid.T, alike bool) Input {
	in := Input{Topics: map[model.TopicID]Topic{}}
	topics := rapid.IntRange(1, 5).Draw(t, "topics")
	for n := range topics {
		in.Topics[topic(n)] = Topic{ID: topic(n), Partitions: rapid.IntRange(0, 12).Draw(t, "partitions"), Racks: drawnRacks(t)}
	}
	common := subset(t, topics+1)
	for n := range rapid.IntRange(0, 7).Draw(t, "members") {
		m := Member{ID: fmt.Sprintf("m%02d", n), Topics: common, Current: map[model.TopicID][]int32{}}
		if !alike {
			m.Topics = subset(t, topics+1) // one more than there are
		}
		if rapid.Bool().Draw(t, "static") {
			id := fmt.Sprintf("i%02d", rapid.IntRange(0, 1).Draw(t, "instance")*50+n)
			m.Instance = &id
		}
		if rapid.Bool().Draw(t, "located") {
			m.Rack = rapid.Ptr(rapid.SampledFrom([]string{"x", "y"}), false).Draw(t, "rack")
		}
		for id := range topics + 1 {
			if owned := rapid.SliceOfNDistinct(rapid.Int32Range(-1, 13), 0, 8, rapid.ID[int32]).Draw(t, "owned"); len(owned) > 0 {
				m.Current[topic(id)] = owned
			}
		}
		in.Members = append(in.Members, m)
	}
	return in
}

func drawnRacks(t *rapid.T) [][]string {
	return rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 2), 0, 13).Draw(t, "racks")
}

func subset(t *rapid.T, topics int) (out []model.TopicID) {
	for n := range topics {
		if rapid.Bool().Draw(t, "subscribed") {
			out = append(out, topic(n))
		}
	}
	return out
}

func (m *Member) subscribed(id model.TopicID) bool { return slices.Contains(m.Topics, id) }

// keepsInvariants checks what is said on Assignment.
func keepsInvariants(t *rapid.T, in Input, a Assignment) {
	if len(a) != len(in.Members) {
		t.Fatalf("%d entries for %d members", len(a), len(in.Members))
	}
	for id, topic := range in.Topics {
		owners, subscribers := make([]int, topic.Partitions), 0
		for _, m := range in.Members {
			if m.subscribed(id) {
				subscribers++
			} else if len(a[m.ID][id]) > 0 {
				t.Fatalf("%s has partitions of a topic that it is not subscribed to", m.ID)
			}
			if !slices.IsSorted(a[m.ID][id]) {
				t.Fatalf("the partitions of %s are not in order: %v", m.ID, a[m.ID][id])
			}
			for _, p := range a[m.ID][id] {
				owners[p]++
			}
		}
		for p, n := range owners {
			if n != min(1, subscribers) {
				t.Fatalf("partition %d has %d owners; %d are subscribed", p, n, subscribers)
			}
		}
	}
}

func TestEveryPartitionHasOneSubscriberAsItsOwner(t *testing.T) {
	for _, a := range []Assignor{uniformAssignor{}, rangeAssignor{}} {
		rapid.Check(t, func(t *rapid.T) {
			in := drawn(t, rapid.Bool().Draw(t, "alike"))
			got := a.Assign(in)
			keepsInvariants(t, in, got)
			if again := a.Assign(in); !reflect.DeepEqual(got, again) {
				t.Fatalf("asked again: %s, before %s", show(again), show(got))
			}
		})
	}
}

func TestUniformLeavesNobodyWithTwoMoreThanAnotherWhoCouldHaveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t, rapid.Bool().Draw(t, "alike"))
		got := uniformAssignor{}.Assign(in)
		for _, m := range in.Members {
			for id := range got[m.ID] {
				for _, other := range in.Members {
					if other.subscribed(id) && load(got[m.ID])-load(got[other.ID]) > 1 {
						t.Fatalf("%s has more than %s: %s", m.ID, other.ID, show(got))
					}
				}
			}
		}
	})
}

// With equal subscriptions a member can keep what it had up to the quota, and as many as there are extra partitions one
// more. Two members that claim the same partition are not drawn: only the first can keep it.
func TestUniformKeepsAsMuchAsAnyEvenAssignmentCould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t, true)
		if len(in.Members) == 0 {
			return
		}
		disjoint(in)
		total, valid := 0, make([]int, len(in.Members))
		for id, topic := range in.Topics {
			if !in.Members[0].subscribed(id) {
				continue
			}
			total += topic.Partitions
			for i, m := range in.Members {
				for _, p := range m.Current[id] {
					if p >= 0 && int(p) < topic.Partitions {
						valid[i]++
					}
				}
			}
		}
		quota, extra, want := total/len(in.Members), total%len(in.Members), 0
		for _, n := range valid {
			want += min(n, quota)
			if n > quota && extra > 0 {
				want, extra = want+1, extra-1
			}
		}
		got := uniformAssignor{}.Assign(in)
		if n := stays(in, got); n != want {
			t.Fatalf("%d stay of what could be %d: %s", n, want, show(got))
		}
	})
}

// disjoint leaves each partition with the first member that claims it.
func disjoint(in Input) {
	taken := map[model.TopicID]map[int32]bool{}
	for _, m := range in.Members {
		for id, partitions := range m.Current {
			if taken[id] == nil {
				taken[id] = map[int32]bool{}
			}
			m.Current[id] = slices.DeleteFunc(partitions, func(p int32) bool { return taken[id][p] })
			for _, p := range m.Current[id] {
				taken[id][p] = true
			}
		}
	}
}

// An assignor that is asked again, with its own answer as what members have, changes nothing: a group comes to rest.
func TestWhatWasAssignedStays(t *testing.T) {
	for _, a := range []Assignor{uniformAssignor{}, rangeAssignor{}} {
		rapid.Check(t, func(t *rapid.T) {
			in := drawn(t, rapid.Bool().Draw(t, "alike"))
			first := a.Assign(in)
			for i := range in.Members {
				in.Members[i].Current = first[in.Members[i].ID]
			}
			if again := a.Assign(in); !reflect.DeepEqual(first, again) {
				t.Fatalf("then %s, first %s", show(again), show(first))
			}
		})
	}
}

func TestRangeGivesEqualMembersTheSameNumbersOfEqualTopics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t, true)
		got := rangeAssignor{}.Assign(in)
		for a, one := range in.Topics {
			for b, two := range in.Topics {
				for _, m := range in.Members {
					if one.Partitions == two.Partitions && m.subscribed(a) && m.subscribed(b) && !slices.Equal(got[m.ID][a], got[m.ID][b]) {
						t.Fatalf("%s: %s", m.ID, show(got))
					}
				}
			}
		}
	})
}
