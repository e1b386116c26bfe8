package assign

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"troupe/internal/model"
)

// pool is topics that the same members are subscribed to: any of the members may have any of the partitions. A group of
// equal subscriptions has one.
type pool struct {
	members []int32
	topics  []int
}

// pools sorts topics into pools, those with the fewest members first: whoever has more choice comes later.
func pools(members []Member, topics []Topic) []pool {
	classes := classes(members)
	keys := make([][]byte, len(topics)) // the classes that are subscribed to a topic
	for c, class := range classes {
		t := 0
		for _, id := range members[class[0]].Topics {
			for t < len(topics) && topics[t].ID.Compare(id) < 0 {
				t++
			}
			if t < len(topics) && topics[t].ID == id {
				keys[t] = binary.BigEndian.AppendUint32(keys[t], uint32(c))
			}
		}
	}
	var out []pool
	known := map[string]int{}
	for t, key := range keys {
		if len(key) == 0 {
			continue
		}
		at, there := known[string(key)]
		if !there {
			at = len(out)
			known[string(key)] = at
			out = append(out, pool{members: union(classes, key)})
		}
		out[at].topics = append(out[at].topics, t)
	}
	slices.SortStableFunc(out, func(a, b pool) int { return cmp.Compare(len(a.members), len(b.members)) })
	return out
}

// classes groups the members with equal subscriptions.
func classes(members []Member) (out [][]int32) {
	known := map[string]int{}
	at := -1
	for i, m := range members {
		// Members of one application mostly subscribe alike: comparing is cheaper than a key.
		if i == 0 || !slices.Equal(m.Topics, members[i-1].Topics) {
			key := subscription(m.Topics)
			var there bool
			if at, there = known[key]; !there {
				at = len(out)
				known[key] = at
				out = append(out, nil)
			}
		}
		out[at] = append(out[at], int32(i))
	}
	return out
}

func subscription(topics []model.TopicID) string {
	key := make([]byte, 0, len(topics)*len(model.TopicID{}))
	for _, id := range topics {
		key = append(key, id[:]...)
	}
	return string(key)
}

func union(classes [][]int32, key []byte) (members []int32) {
	for ; len(key) > 0; key = key[4:] {
		members = append(members, classes[binary.BigEndian.Uint32(key)]...)
	}
	slices.Sort(members)
	return members
}

// partitions gives the numbers of a pool's partitions, rising.
func (p *plan) partitions(s pool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, t := range s.topics {
			for n := range p.topics[t].Partitions {
				if !yield(p.first[t] + n) {
					return
				}
			}
		}
	}
}
