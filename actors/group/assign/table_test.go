package assign

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"troupe/internal/model"
)

// group reads a group: the partitions of topics 0, 1, … and its members, each as id@instance:subscriptions:current, where
// current is topic=partition,partition;….
func group(t testing.TB, topics string, members ...string) Input {
	t.Helper()
	in := Input{Topics: map[model.TopicID]Topic{}}
	for i, count := range strings.Split(topics, ",") {
		in.Topics[topic(i)] = Topic{ID: topic(i), Partitions: number(t, count)}
	}
	for _, text := range members {
		fields := strings.Split(text, ":")
		name, instance, static := strings.Cut(fields[0], "@")
		m := Member{ID: name, Current: map[model.TopicID][]int32{}}
		if static {
			m.Instance = &instance
		}
		for _, n := range strings.Split(fields[1], ",") {
			m.Topics = append(m.Topics, topic(number(t, n)))
		}
		if len(fields) > 2 {
			for _, part := range strings.Split(fields[2], ";") {
				id, partitions, _ := strings.Cut(part, "=")
				for _, n := range strings.Split(partitions, ",") {
					m.Current[topic(number(t, id))] = append(m.Current[topic(number(t, id))], int32(number(t, n)))
				}
			}
		}
		in.Members = append(in.Members, m)
	}
	slices.SortFunc(in.Members, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	return in
}

func topic(n int) model.TopicID { return model.TopicID{14: byte(n >> 8), 15: byte(n)} }

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// show writes an assignment as a line: "a 0=0,1 1=2; b 0=2".
func show(a Assignment) string {
	var lines []string
	for _, member := range slices.Sorted(maps.Keys(a)) {
		line := member
		for n := range 512 {
			if partitions, there := a[member][topic(n)]; there {
				line += fmt.Sprintf(" %d=%s", n, strings.ReplaceAll(strings.Trim(fmt.Sprint(partitions), "[]"), " ", ","))
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// The answers are those of the assignors of Kafka 4.3.1, asked for the same groups.
func TestRangeAnswersAsKafkasDoes(t *testing.T) {
	for _, c := range []struct {
		title, topics string
		members       []string
		want          string
	}{
		{"the first member has the partition that is left over", "3,3", []string{"a:0,1", "b:0,1"}, "a 0=0,1 1=0,1; b 0=2 1=2"},
		{"the same numbers of each topic go together", "3,3", []string{"a:0,1", "b:0,1", "c:0,1"}, "a 0=0 1=0; b 0=1 1=1; c 0=2 1=2"},
		{"who comes after the last partition has none", "2,2", []string{"a:0,1", "b:0,1", "c:0,1"}, "a 0=0 1=0; b 0=1 1=1; c"},
		{"each topic is divided among its own subscribers", "5,3", []string{"a:0,1", "b:0", "c:1"}, "a 0=0,1,2 1=0,1; b 0=3,4; c 1=2"},
		{"static members come first, by instance id", "3,3", []string{"z@i1:0,1", "a:0,1", "m@i0:0,1"}, "a 0=2 1=2; m 0=0 1=0; z 0=1 1=1"},
		{"what a member had is no matter", "3", []string{"a:0:0=1,2", "b:0:0=0"}, "a 0=0,1; b 0=2"},
	} {
		if got := show(rangeAssignor{}.Assign(group(t, c.topics, c.members...))); got != c.want {
			t.Errorf("%s: %s, want %s", c.title, got, c.want)
		}
	}
}

// The answers are those of Kafka 4.3.1 where its rules allow one only; which of equal members gets more hangs on the
// order of a hash map there.
func TestUniformAnswersAsKafkasDoesWhereThereIsNoChoice(t *testing.T) {
	for _, c := range []struct {
		title, topics string
		members       []string
		want          string
	}{
		{"what is even stays", "6", []string{"a:0:0=0,1,2", "b:0:0=3,4,5"}, "a 0=0,1,2; b 0=3,4,5"},
		{"what is free goes to who has less", "4", []string{"a:0:0=0,1", "b:0:0=2"}, "a 0=0,1; b 0=2,3"},
		{"who has too much gives its last", "4", []string{"a:0:0=0", "b:0:0=1,2,3"}, "a 0=0,3; b 0=1,2"},
		{"the extra partition stays where it is", "5", []string{"a:0:0=0,1", "b:0:0=2,3,4"}, "a 0=0,1; b 0=2,3,4"},
		{"a newcomer takes from who has two", "3", []string{"a:0:0=0", "b:0:0=1,2", "c:0"}, "a 0=0; b 0=1; c 0=2"},
	} {
		if got := show(uniformAssignor{}.Assign(group(t, c.topics, c.members...))); got != c.want {
			t.Errorf("%s: %s, want %s", c.title, got, c.want)
		}
	}
}

// Loads and the number of partitions that stay are what Kafka 4.3.1 comes to for these groups.
func TestUniformIsAsEvenAsKafkasWhereSubscriptionsDiffer(t *testing.T) {
	for _, c := range []struct {
		title, topics string
		members       []string
		loads         []int
		stay          int
	}{
		{"a group that begins", "6,4", []string{"a:0", "b:0,1", "c:1"}, []int{3, 3, 4}, 0},
		{"a group that was uneven", "6,4", []string{"a:0:0=0,1,2,3,4,5", "b:0,1:1=0,1", "c:1:1=2,3"}, []int{3, 3, 4}, 7},
	} {
		in := group(t, c.topics, c.members...)
		got := uniformAssignor{}.Assign(in)
		var loads []int
		for _, m := range in.Members {
			loads = append(loads, load(got[m.ID]))
		}
		slices.Sort(loads)
		if !slices.Equal(loads, c.loads) || stays(in, got) != c.stay {
			t.Errorf("%s: %s: loads %v and %d stay, want %v and %d", c.title, show(got), loads, stays(in, got), c.loads, c.stay)
		}
	}
}

func load(partitions map[model.TopicID][]int32) (n int) {
	for _, p := range partitions {
		n += len(p)
	}
	return n
}

// stays counts the partitions that keep their owner.
func stays(in Input, a Assignment) (n int) {
	for _, m := range in.Members {
		for id, partitions := range m.Current {
			for _, p := range partitions {
				if slices.Contains(a[m.ID][id], p) {
					n++
				}
			}
		}
	}
	return n
}

func TestUniformPrefersTheRackOfAReplica(t *testing.T) {
	east, west := "east", "west"
	in := group(t, "4", "a:0", "b:0")
	in.Members[0].Rack, in.Members[1].Rack = &east, &west
	in.Topics[topic(0)] = Topic{ID: topic(0), Partitions: 4, Racks: [][]string{{west}, {west}, {east}, {east, west}}}
	if got, want := show(uniformAssignor{}.Assign(in)), "a 0=2,3; b 0=0,1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// A rack is no reason to move what has an owner, nor to be uneven.
	in.Members[0].Current = map[model.TopicID][]int32{topic(0): {0, 1}}
	if got, want := show(uniformAssignor{}.Assign(in)), "a 0=0,1; b 0=2,3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAssignorsAreFoundByTheirNames(t *testing.T) {
	for _, name := range []string{"uniform", "range"} {
		if a, there := ByName(name); !there || a.Name() != name {
			t.Errorf("%q gives %v", name, a)
		}
	}
	if a, there := ByName("sticky"); there {
		t.Errorf("%v is no assignor of consumer groups", a)
	}
}
