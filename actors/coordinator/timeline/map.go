package timeline

import (
	"cmp"
	"slices"
)

// Map is a map on a Timeline. A value is replaced, never changed in place, but for maps on the same timeline.
type Map[K comparable, V any] struct {
	line    *Timeline
	current map[K]V
	// former has what each journalled change of a key replaced, oldest first; keys is their order over all keys.
	former map[K][]entry[V]
	keys   []K
}

// entry is a value, or that there is none.
type entry[V any] struct {
	value V
	there bool
}

// NewMap gives an empty map.
func NewMap[K comparable, V any](t *Timeline) *Map[K, V] {
	return &Map[K, V]{line: t, current: map[K]V{}}
}

// Get reads the latest state.
func (m *Map[K, V]) Get(k K) (V, bool) {
	v, ok := m.current[k]
	return v, ok
}

// Len is the number of keys in the latest state.
func (m *Map[K, V]) Len() int { return len(m.current) }

// Set puts a value in.
func (m *Map[K, V]) Set(k K, v V) {
	m.keep(k)
	m.current[k] = v
}

// Delete takes a key out.
func (m *Map[K, V]) Delete(k K) {
	if _, ok := m.current[k]; ok {
		m.keep(k)
		delete(m.current, k)
	}
}

// Committed reads a key as it is committed.
func (m *Map[K, V]) Committed(k K) (V, bool) {
	if old := m.former[k]; len(old) > 0 {
		return old[0].value, old[0].there
	}
	return m.Get(k)
}

// Keys lists the keys of the latest state, sorted.
func (m *Map[K, V]) Keys(compare func(a, b K) int) []K {
	return m.KeysOf(func(K, V) bool { return true }, compare)
}

// KeysOf lists the keys of the latest state that a condition holds for, sorted.
func (m *Map[K, V]) KeysOf(holds func(K, V) bool, compare func(a, b K) int) []K {
	var keys []K
	for k, v := range m.current {
		if holds(k, v) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compare)
	return keys
}

// CommittedKeys lists the keys of the committed state, sorted.
func (m *Map[K, V]) CommittedKeys(compare func(a, b K) int) []K {
	keys := make([]K, 0, len(m.current))
	for k := range m.current {
		if old := m.former[k]; len(old) == 0 || old[0].there {
			keys = append(keys, k)
		}
	}
	for k, old := range m.former {
		if _, now := m.current[k]; !now && old[0].there {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compare)
	return keys
}

// SortedKeys is Keys for keys that have an order of their own.
func SortedKeys[K cmp.Ordered, V any](m *Map[K, V]) []K { return m.Keys(cmp.Compare[K]) }

// SortedCommittedKeys is CommittedKeys for keys that have an order of their own.
func SortedCommittedKeys[K cmp.Ordered, V any](m *Map[K, V]) []K {
	return m.CommittedKeys(cmp.Compare[K])
}

// EachCommitted visits the committed state, in any order.
func (m *Map[K, V]) EachCommitted(visit func(K, V)) {
	for k, v := range m.current {
		if old := m.former[k]; len(old) == 0 {
			visit(k, v)
		}
	}
	for k, old := range m.former {
		if old[0].there {
			visit(k, old[0].value)
		}
	}
}

func (m *Map[K, V]) keep(k K) {
	if !m.line.note(m) {
		return
	}
	v, there := m.current[k]
	if m.former == nil {
		m.former = map[K][]entry[V]{}
	}
	m.former[k] = append(m.former[k], entry[V]{v, there})
	m.keys = append(m.keys, k)
}

func (m *Map[K, V]) undo() {
	last := len(m.keys) - 1
	k := m.keys[last]
	m.keys = m.keys[:last]
	old := m.former[k]
	was := old[len(old)-1]
	if m.former[k] = old[:len(old)-1]; len(old) == 1 {
		delete(m.former, k)
	}
	if was.there {
		m.current[k] = was.value
	} else {
		delete(m.current, k)
	}
}

func (m *Map[K, V]) settle() {
	k := m.keys[0]
	if m.keys = m.keys[1:]; len(m.keys) == 0 {
		m.keys = nil
	}
	if old := m.former[k]; len(old) > 1 {
		m.former[k] = old[1:]
	} else {
		delete(m.former, k)
	}
}
