package timeline

// Value is one value on a Timeline.
type Value[V any] struct{ cell *Map[struct{}, V] }

// NewValue begins with a value that needs no way back: who holds the Value comes and goes with it.
func NewValue[V any](t *Timeline, first V) *Value[V] {
	m := NewMap[struct{}, V](t)
	m.current[struct{}{}] = first
	return &Value[V]{m}
}

// Get reads the latest state.
func (v *Value[V]) Get() V {
	now, _ := v.cell.Get(struct{}{})
	return now
}

// Committed reads the committed state.
func (v *Value[V]) Committed() V {
	was, _ := v.cell.Committed(struct{}{})
	return was
}

// Set replaces the value.
func (v *Value[V]) Set(now V) { v.cell.Set(struct{}{}, now) }
