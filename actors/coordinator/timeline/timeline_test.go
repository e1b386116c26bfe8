package timeline

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/model"
)

// copies keeps a whole copy of the state before each offset: what a Timeline must come to with its journal.
type copies struct {
	states    []map[string]int // states[i] is the state before the i-th uncommitted change
	offsets   []model.Offset
	now       map[string]int
	committed map[string]int
}

func (c *copies) change(at model.Offset, f func(map[string]int)) {
	c.states = append(c.states, maps.Clone(c.now))
	c.offsets = append(c.offsets, at)
	f(c.now)
}

func (c *copies) commit(next model.Offset) {
	for len(c.offsets) > 0 && c.offsets[0] < next {
		c.states, c.offsets = c.states[1:], c.offsets[1:]
	}
	c.committed = c.now
	if len(c.states) > 0 {
		c.committed = c.states[0]
	}
	c.committed = maps.Clone(c.committed)
}

func (c *copies) rollback(from model.Offset) {
	for n := len(c.offsets); n > 0 && c.offsets[n-1] >= from; n-- {
		c.now = c.states[n-1]
		c.states, c.offsets = c.states[:n-1], c.offsets[:n-1]
	}
}

func TestATimelineIsWhatCopiesOfEachStateWouldBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := New(0)
		m := NewMap[string, int](line)
		want := &copies{now: map[string]int{}, committed: map[string]int{}}
		at := model.Offset(0)
		key := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.IntRange(0, 9).Draw(t, "value")
				line.At(at)
				m.Set(k, v)
				want.change(at, func(s map[string]int) { s[k] = v })
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				line.At(at)
				m.Delete(k)
				if _, there := want.now[k]; there {
					want.change(at, func(s map[string]int) { delete(s, k) })
				}
			},
			"next record": func(*rapid.T) { at++ },
			"commit": func(t *rapid.T) {
				next := model.Offset(rapid.Int64Range(int64(line.Next()), int64(at)).Draw(t, "next"))
				line.Commit(next)
				want.commit(next)
			},
			"rollback": func(t *rapid.T) {
				from := model.Offset(rapid.Int64Range(int64(line.Next()), int64(at)).Draw(t, "from"))
				line.Rollback(from)
				want.rollback(from)
				at = from
			},
			"": func(t *rapid.T) { compare(t, m, want) },
		})
	})
}

func compare(t *rapid.T, m *Map[string, int], want *copies) {
	if !maps.Equal(m.current, want.now) {
		t.Fatalf("latest state %v, want %v", m.current, want.now)
	}
	if got := slices.Sorted(maps.Keys(want.now)); !slices.Equal(got, SortedKeys(m)) {
		t.Fatalf("keys %v, want %v", SortedKeys(m), got)
	}
	for _, k := range []string{"a", "b", "c", "d"} {
		v, ok := m.Committed(k)
		if w, there := want.committed[k]; v*b2i(ok) != w || ok != there {
			t.Fatalf("committed %s is %d, %v; want %d, %v", k, v, ok, w, there)
		}
	}
	each := map[string]int{}
	m.EachCommitted(func(k string, v int) {
		if _, twice := each[k]; twice {
			t.Fatalf("%s is visited twice", k)
		}
		each[k] = v
	})
	if !maps.Equal(each, want.committed) {
		t.Fatalf("visited %v, want %v", each, want.committed)
	}
	if got := slices.Sorted(maps.Keys(want.committed)); !slices.Equal(got, m.CommittedKeys(cmp.Compare)) {
		t.Fatalf("committed keys %v, want %v", m.CommittedKeys(cmp.Compare), got)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAMapWithinAMapGoesBackWithIt(t *testing.T) {
	line := New(10)
	groups := NewMap[string, *Map[int, string]](line)
	line.At(10)
	inner := NewMap[int, string](line)
	groups.Set("g", inner)
	inner.Set(1, "one")
	line.Commit(11)

	// The group is emptied and deleted, and comes back as another one.
	line.At(11)
	inner.Delete(1)
	groups.Delete("g")
	line.At(12)
	groups.Set("g", NewMap[int, string](line))

	got, _ := groups.Committed("g")
	if v, _ := got.Committed(1); got != inner || v != "one" {
		t.Fatalf("committed state lost the first group: %v", v)
	}
	line.Rollback(11)
	got, _ = groups.Get("g")
	if v, _ := got.Get(1); got != inner || v != "one" {
		t.Fatalf("the first group did not come back: %v", v)
	}
}

func TestWhatIsReplayedAsCommittedKeepsNoHistory(t *testing.T) {
	line := New(100)
	m := NewMap[int, int](line)
	for o := range model.Offset(100) {
		line.At(o)
		m.Set(int(o%3), int(o))
	}
	if len(line.journal) != 0 || len(m.former) != 0 {
		t.Fatalf("%d changes are journalled, %d keys have a history", len(line.journal), len(m.former))
	}
}
