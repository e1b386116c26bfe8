package placement

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/model"
)

func brokers(racks ...string) []Broker {
	var list []Broker
	for i, rack := range racks {
		list = append(list, Broker{ID: model.BrokerID(i + 1), Rack: rack})
	}
	return list
}

func zero(int) int { return 0 }

// place gives several partitions as text.
func place(t *testing.T, p *Placer, count, factor int) string {
	t.Helper()
	var list [][]model.BrokerID
	for range count {
		replicas, err := p.Next(factor)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, replicas)
	}
	return fmt.Sprint(list)
}

func TestStripesGoOverRacksThenOverBrokers(t *testing.T) {
	for _, c := range []struct {
		title         string
		brokers       []Broker
		count, factor int
		want          string
	}{
		{"one broker has everything", brokers(""), 3, 1, "[[1] [1] [1]]"},
		{"without racks partitions begin one broker further each", brokers("", "", ""), 4, 2, "[[1 2] [2 3] [3 1] [1 2]]"},
		{"each partition begins one rack further, and takes every rack before one twice", brokers("a", "a", "b", "b", "c", "c"), 3, 3,
			"[[1 3 5] [4 6 2] [5 1 3]]"},
		{"more replicas than racks go round", brokers("a", "a", "b"), 2, 3, "[[1 3 2] [3 2 1]]"},
	} {
		if got := place(t, New(c.brokers, zero), c.count, c.factor); got != c.want {
			t.Errorf("%s: %s, want %s", c.title, got, c.want)
		}
	}
}

func TestFencedBrokersComeLastAndNeverLead(t *testing.T) {
	list := brokers("", "", "")
	list[0].Fenced = true
	if got := place(t, New(list, zero), 3, 2); got != "[[2 3] [3 2] [2 3]]" {
		t.Errorf("two of two that serve: %s", got)
	}
	if got := place(t, New(list, zero), 3, 3); got != "[[2 3 1] [3 2 1] [2 3 1]]" {
		t.Errorf("all three: %s", got)
	}
}

func TestWhatCannotBePlacedIsRefused(t *testing.T) {
	fenced := []Broker{{ID: 1, Fenced: true}}
	for _, c := range []struct {
		brokers []Broker
		factor  int
		want    error
	}{
		{brokers(""), 0, ErrReplicationFactor}, {brokers(""), -1, ErrReplicationFactor},
		{fenced, 1, ErrAllFenced}, {nil, 1, ErrAllFenced},
	} {
		if _, err := New(c.brokers, zero).Next(c.factor); !errors.Is(err, c.want) {
			t.Errorf("%d replicas on %v: %v, want %v", c.factor, c.brokers, err, c.want)
		}
	}
	var few *FewBrokersError
	if _, err := New(brokers("", ""), zero).Next(3); !errors.As(err, &few) || few.Brokers != 2 || few.ReplicationFactor != 3 {
		t.Errorf("three replicas on two brokers: %v", err)
	}
}

// Whatever the brokers and racks: no broker twice, a leader that serves, as many racks as can be, and leaders spread
// evenly over the racks that have brokers that serve.
func TestPlacementKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "brokers")
		var list []Broker
		rackOf := map[model.BrokerID]string{}
		serves := map[model.BrokerID]bool{}
		racks := map[string]bool{}
		for i := range n {
			b := Broker{ID: model.BrokerID(i), Rack: fmt.Sprint("r", rapid.IntRange(0, 3).Draw(t, "rack")), Fenced: rapid.IntRange(0, 3).Draw(t, "fenced") == 0}
			list = append(list, b)
			rackOf[b.ID], serves[b.ID], racks[b.Rack] = b.Rack, !b.Fenced, true
		}
		if !slices.ContainsFunc(list, func(b Broker) bool { return !b.Fenced }) {
			list[0].Fenced = false
			serves[list[0].ID] = true
		}
		factor := rapid.IntRange(1, n).Draw(t, "factor")
		p := New(list, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") })
		for range rapid.IntRange(1, 30).Draw(t, "partitions") {
			replicas, err := p.Next(factor)
			if err != nil {
				t.Fatal(err)
			}
			if len(replicas) != factor || len(slices.Compact(slices.Sorted(slices.Values(replicas)))) != factor {
				t.Fatalf("%v for %d replicas", replicas, factor)
			}
			if !serves[replicas[0]] {
				t.Fatalf("%v begins with a fenced broker", replicas)
			}
			used := map[string]bool{}
			for _, id := range replicas {
				used[rackOf[id]] = true
			}
			if len(used) < min(factor, len(racks)) {
				t.Fatalf("%v uses %d racks of %d", replicas, len(used), len(racks))
			}
		}
	})
}
