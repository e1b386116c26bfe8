package metadata

import (
	"log/slog"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Apply brings the next image. Then is called once the image is published and every replica that it brought has its
// actor, so that a client that is told of a new topic can write to it.
type Apply struct {
	Delta image.Delta
	// Complete says that everything committed before this node's start is in it: what no topic claims is stray.
	Complete bool
	Then     func() // called on the metadata actor's goroutine; may be nil
}

// hosted says that a shard has taken an order.
type hosted struct{ apply *application }

func (*Apply) MessageKind() string  { return "metadata.apply" }
func (*hosted) MessageKind() string { return "metadata.hosted" }

// Found is a log that stood in a log directory at the start, with what the directory's checkpoints say of it.
type Found struct {
	Dir                                    *disk.Dir
	RecoveryPoint, LogStart, HighWatermark model.Offset
}

// Deps is what the metadata actor works with.
type Deps struct {
	Self     model.BrokerID
	Source   *Source
	Replicas *replica.Directory
	Shards   []kit.Ref
	Dirs     []*disk.Dir
	Log      *slog.Logger
	// Found are the logs that were there at the start; what no image claims is set aside as stray.
	Found map[model.TopicPartition]Found
	// Settled is told, once the metadata is complete, how many of Found it claims; Opened is told of each of those.
	Settled func(logs int)
	Opened  func(partitionlog.Recovery, error)
	// Clean tells that the last stop closed every log.
	Clean bool
}

// Actor applies images one after the other: the next one waits until the orders of the one before were taken.
type Actor struct {
	deps    Deps
	waiting []*Apply
	current *application
	claimed int
	settled bool
}

// application is an image whose orders are on their way.
type application struct {
	apply *Apply
	left  int // shards that have not taken their orders
}

// New makes the behavior.
func New(d Deps) *Actor { return &Actor{deps: d} }

// Receive applies images in order.
func (a *Actor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Apply:
		a.waiting = append(a.waiting, m)
		a.next(ctx)
	case *hosted:
		m.apply.left--
		a.settle(ctx)
	}
}

func (a *Actor) next(ctx *kit.Context) {
	if a.current != nil || len(a.waiting) == 0 {
		return
	}
	m := a.waiting[0]
	a.waiting = a.waiting[1:]
	a.current = &application{apply: m, left: 1} // one for order itself
	a.order(ctx, m)
	a.current.left--
	a.settle(ctx)
}

func (a *Actor) settle(ctx *kit.Context) {
	if a.current == nil || a.current.left > 0 {
		return
	}
	m := a.current.apply
	a.current = nil
	a.deps.Source.publish(m.Delta.To)
	if m.Then != nil {
		m.Then()
	}
	a.next(ctx)
}
