package cleaner

import (
	"testing"

	"troupe/actors/kit"
	"troupe/configs"
	"troupe/internal/clock"
)

// fast is a rate at which nobody waits for the disk's sake.
func fast() configs.Cleaner { return configs.Cleaner{Threads: 8, MapBytes: 1 << 20, BytesPerSec: 1e18} }

// A turn as lanes take it, eight at once.
func BenchmarkATurnByTheLock(b *testing.B) {
	p := NewPool(clock.System(), fast)
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p.reserve(256 << 10)
		}
	})
}

// turn is what an actor in place of the lock would be asked.
type turn struct{ done chan struct{} }

func (*turn) MessageKind() string { return "turn" }

type turns struct{ pool *Pool }

func (t *turns) Receive(_ *kit.Context, m kit.Message) {
	t.pool.reserve(256 << 10)
	m.(*turn).done <- struct{}{}
}

// The same by a message and its answer, for which the lane waits.
func BenchmarkATurnByMessages(b *testing.B) {
	system := kit.NewSystem(kit.Options{Clock: clock.System()})
	ref := system.Spawn("turns", kit.Props{Kind: "turns", New: func() kit.Behavior { return &turns{NewPool(clock.System(), fast)} }})
	defer func() {
		if err := system.Shutdown(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		m := &turn{make(chan struct{}, 1)}
		for pb.Next() {
			ref.Send(m)
			<-m.done
		}
	})
}
