package coordinator

import (
	"maps"
	"slices"
	"sync"

	"troupe/actors/kit"
	"troupe/actors/trace"
)

// Directory finds the coordinators that run on this broker. It is safe for concurrent use.
type Directory struct {
	mu   sync.RWMutex
	refs map[int32]kit.Ref
}

// NewDirectory makes an empty one.
func NewDirectory() *Directory { return &Directory{refs: map[int32]kit.Ref{}} }

// Send passes a request to the coordinator of a partition; one that does not run here fails it.
func (d *Directory) Send(cause trace.Context, partition int32, r *Request) {
	d.SendOn(nil, cause, partition, r)
}

// SendOn lends the sender's turn, if there is one, to a coordinator that sleeps.
func (d *Directory) SendOn(t *kit.Turn, cause trace.Context, partition int32, r *Request) {
	d.mu.RLock()
	ref := d.refs[partition]
	d.mu.RUnlock()
	if ref.IsZero() {
		r.Fail(kit.ErrStopped)
		return
	}
	t.Send(ref, cause, r)
}

// Partitions lists the partitions that are coordinated here.
func (d *Directory) Partitions() []int32 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.refs))
}

func (d *Directory) put(partition int32, ref kit.Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refs[partition] = ref
}

func (d *Directory) remove(partition int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.refs, partition)
}
