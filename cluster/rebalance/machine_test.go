package rebalance

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/model"
)

func on(topic string, number int32, replicas ...model.BrokerID) Partition {
	return Partition{TopicPartition: model.TopicPartition{Topic: topic, Partition: number}, Replicas: replicas}
}

func TestPlansOfSmallClusters(t *testing.T) {
	three := []Broker{{ID: 1}, {ID: 2}, {ID: 3}}
	for _, c := range []struct {
		title      string
		brokers    []Broker
		partitions []Partition
		want       string
	}{
		{"what is even stays", three, []Partition{on("a", 0, 1, 2), on("a", 1, 2, 3), on("a", 2, 3, 1)}, ""},
		{"brokers that were added take their part, with as few moves as can be", three, []Partition{on("a", 0, 1), on("a", 1, 1), on("a", 2, 1)}, "a-0[1]->[2] a-1[1]->[3] "},
		{"a broker that is drained keeps nothing", []Broker{{ID: 1}, {ID: 2}, {ID: 3, Draining: true}}, []Partition{on("a", 0, 3, 1), on("a", 1, 1, 2)}, "a-0[3 1]->[2 1] "},
		{"a broker that is gone for ever is replaced", three, []Partition{on("a", 0, 9, 1, 2)}, "a-0[9 1 2]->[1 2 3] "},
		{"leads move without data", three, []Partition{on("a", 0, 1, 2, 3), on("a", 1, 1, 2, 3), on("a", 2, 1, 2, 3)}, "a-0[1 2 3]->[2 1 3] a-1[1 2 3]->[3 2 1] "},
		{
			"a topic that was made with one broker gets its replicas", three,
			[]Partition{{TopicPartition: model.TopicPartition{Topic: "a"}, Replicas: []model.BrokerID{2}, Factor: 3}}, "a-0[2]->[2 1 3] ",
		},
		{
			"replicas leave a rack that they share", []Broker{{ID: 1, Rack: "x"}, {ID: 2, Rack: "x"}, {ID: 3, Rack: "y"}},
			[]Partition{on("a", 0, 1, 2), on("b", 0, 1, 3)}, "a-0[1 2]->[3 2] ",
		},
	} {
		t.Run(c.title, func(t *testing.T) {
			moves, err := Plan(c.brokers, c.partitions)
			got := ""
			for _, m := range moves {
				got += fmt.Sprintf("%s%v->%v ", m.TopicPartition, m.From, m.To)
			}
			if err != nil || got != c.want {
				t.Errorf("planned %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestABrokerCannotBeDrainedWhenTooFewAreLeft(t *testing.T) {
	_, err := Plan([]Broker{{ID: 1}, {ID: 2}, {ID: 3, Draining: true}}, []Partition{on("a", 0, 1, 2, 3)})
	var few *FewBrokersError
	if !errors.As(err, &few) || few.Factor != 3 || few.Brokers != 2 {
		t.Errorf("got %v", err)
	}
}

// drawn is a cluster with brokers that were added, are to go or are gone, and partitions anywhere on them.
func drawn(t *rapid.T, racks []string) ([]Broker, []Partition) {
	var brokers []Broker
	serving := 0
	for id := range rapid.IntRange(1, 8).Draw(t, "brokers") {
		b := Broker{ID: model.BrokerID(id), Rack: rapid.SampledFrom(racks).Draw(t, "rack"), Draining: id > 0 && rapid.IntRange(0, 5).Draw(t, "draining") == 0}
		if !b.Draining {
			serving++
		}
		brokers = append(brokers, b)
	}
	var partitions []Partition
	for n := range rapid.IntRange(0, 40).Draw(t, "partitions") {
		one := on(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "topic"), int32(n))
		ids := rapid.Permutation([]model.BrokerID{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "order") // some of them are gone
		one.Replicas = ids[:rapid.IntRange(1, serving).Draw(t, "replicas")]
		one.Factor = rapid.IntRange(0, serving).Draw(t, "factor")
		partitions = append(partitions, one)
	}
	return brokers, partitions
}

func TestPlansKeepTheirInvariants(t *testing.T) {
	for _, racks := range [][]string{{""}, {"x", "y", "z"}} {
		rapid.Check(t, func(t *rapid.T) {
			brokers, partitions := drawn(t, racks)
			after := done(t, brokers, partitions)
			load, racksOf := map[model.BrokerID]int{}, map[model.BrokerID]string{}
			all := map[string]bool{}
			for _, b := range brokers {
				if !b.Draining {
					load[b.ID], racksOf[b.ID], all[b.Rack] = 0, b.Rack, true
				}
			}
			for i, one := range after {
				if want := max(partitions[i].Factor, len(partitions[i].Replicas)); len(one.Replicas) != want {
					t.Fatalf("%s has %v, want %d replicas", one.TopicPartition, one.Replicas, want)
				}
				in := map[string]bool{}
				for j, id := range one.Replicas {
					if _, serves := racksOf[id]; !serves || slices.Contains(one.Replicas[:j], id) {
						t.Fatalf("%s has %v", one.TopicPartition, one.Replicas)
					}
					in[racksOf[id]] = true
					load[id]++
				}
				if len(in) != min(len(one.Replicas), len(all)) {
					t.Fatalf("%s has %v, in %d of %d racks", one.TopicPartition, one.Replicas, len(in), len(all))
				}
			}
			least, most := 1<<30, 0
			for _, n := range load {
				least, most = min(least, n), max(most, n)
			}
			if len(racks) == 1 && most-least > 1 {
				t.Fatalf("loads %v", load)
			}
			if again, err := Plan(brokers, after); err != nil || len(again) > 0 {
				t.Fatalf("planning again gives %v, %v", again, err)
			}
		})
	}
}

// done gives the partitions as they are when the plan is.
func done(t *rapid.T, brokers []Broker, partitions []Partition) []Partition {
	moves, err := Plan(brokers, partitions)
	if err != nil {
		t.Fatal(err)
	}
	after := slices.Clone(partitions)
	for _, m := range moves {
		i := slices.IndexFunc(after, func(one Partition) bool { return one.TopicPartition == m.TopicPartition })
		if !slices.Equal(after[i].Replicas, m.From) {
			t.Fatalf("%s moves from %v, and is on %v", m.TopicPartition, m.From, after[i].Replicas)
		}
		after[i].Replicas = m.To
	}
	return after
}
