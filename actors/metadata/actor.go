package metadata

import (
	"log/slog"

	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Apply brings the next image. Then is called once the image is published and every replica that it brought has its
// actor, so that a client that is told of a new topic can write to it.
type Apply struct {
	// Delta may begin at another image than the last one applied, when the controller began anew.
	Delta image.Delta
	// Complete says that everything committed before this node's start is in it: replicas begin, and what no topic claims is stray.
	Complete bool
	Then     func() // called on the metadata actor's goroutine; may be nil
}

// hosted says that a shard has taken an order.
type hosted struct{ apply *application }

// aside is what became of a log that no topic claims.
type aside struct {
	partition model.TopicPartition
	to        string
	err       error
}

func (*Apply) MessageKind() string  { return "metadata.apply" }
func (*hosted) MessageKind() string { return "metadata.hosted" }
func (*aside) MessageKind() string  { return "metadata.aside" }

// Found is a log that stood in a log directory at the start, with what the directory's checkpoints say of it.
type Found struct {
	Dir                                    *disk.Dir
	RecoveryPoint, LogStart, HighWatermark model.Offset
	Cleaned                                model.Offset // up to which a cleaner has been over it
	// Kept tells that the directory has everything that was written to it, synced or not.
	Kept bool
	// TopicID is known of logs of one name in several directories: it tells them apart.
	TopicID model.TopicID
	// Copy is where a copy stands, which has not got the name of its log.
	Copy string
}

// Deps is what the metadata actor works with.
type Deps struct {
	Self model.BrokerID
	// Incarnation is what this process registers as. What the image says of a former one is not for this one to do.
	Incarnation model.UUID
	Source      *Source
	Replicas    *replica.Directory
	Shards      []kit.Ref // none where no replicas are to be
	Dirs        []*disk.Dir
	// Peers is told of the other nodes, which are reached at their listeners of the names InterBroker and Controllers; zero for
	// nobody.
	Peers                    kit.Ref
	InterBroker, Controllers string
	Log                      *slog.Logger
	Journal                  journal.Journal
	// Coordinators are the hosts of the coordinators of internal topics, by topic.
	Coordinators map[string]kit.Ref
	// Found are the logs that were there at the start; what no image claims is set aside as stray.
	Found map[model.TopicPartition][]Found
	// Copies were being moved to their directories by a process before this one; their logs are nowhere.
	Copies map[model.TopicPartition][]Found
	// Settled is told, once the metadata is complete, how many of Found and Copies it claims; Opened is told of each of those.
	Settled func(logs int)
	Opened  func(partitionlog.Recovery, error)
	// Clean tells that the last stop closed every log.
	Clean bool
}

// progress is what outlives the instances: a panic must not lose an image, nor the answers that wait for it.
type progress struct {
	ordered *image.Image // the last image whose orders were begun
	settled bool
	present bool // this process has been registered and unfenced
	alone   bool // there is no other broker
	claimed int
	found   map[model.TopicPartition][]Found
	copies  map[model.TopicPartition][]Found
	waiting []*Apply // the first one is under way
	strays  strays
}

// applier applies images one after the other: the next one waits until the orders of the one before were taken.
type applier struct {
	deps    Deps
	kept    *progress
	current *application
}

// application is an image whose orders are on their way.
type application struct {
	apply *Apply
	left  int // shards that have not taken their orders
}

// New makes an actor that goes on after a panic where it was.
func New(d Deps) kit.Props {
	kept := &progress{ordered: d.Source.Image(), found: d.Found, copies: d.Copies}
	return kit.Props{Kind: "metadata", New: func() kit.Behavior { return &applier{deps: d, kept: kept} }}
}

// Start gives the orders again that the former incarnation may have given in part: they are the same, and given twice
// they change nothing.
func (a *applier) Start(ctx *kit.Context) {
	if ctx.Incarnation() == 1 {
		return
	}
	if a.kept.settled {
		a.kept.ordered = a.deps.Source.Image()
	} else {
		a.kept.ordered = image.Empty(a.kept.ordered.ClusterID)
	}
	a.next(ctx)
}

// Receive applies images in order.
func (a *applier) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Apply:
		a.kept.waiting = append(a.kept.waiting, m)
		a.next(ctx)
	case *hosted:
		m.apply.left--
		a.settle(ctx)
		a.next(ctx)
	case *aside:
		a.setAside(m)
	}
}

// next begins images until one has orders under way. An order that is taken at once ends within the loop, so that a start
// with a thousand small images makes no round through the mailbox for each.
func (a *applier) next(ctx *kit.Context) {
	for a.current == nil && len(a.kept.waiting) > 0 {
		m := a.kept.waiting[0]
		// A controller that begins anew replays what this broker has applied already. Going back would delete replicas.
		if m.Delta.To.Offset < a.deps.Source.Image().Offset {
			a.kept.waiting = a.kept.waiting[1:]
			m.then()
			continue
		}
		a.current = &application{apply: m, left: 1} // one for order itself
		a.order(ctx, m)
		a.current.left--
		a.settle(ctx)
	}
}

// settle publishes the image whose orders are all taken. Where brokers changed their state, leaders judge anew who may be in
// their ISRs: they go by what is published.
func (a *applier) settle(ctx *kit.Context) {
	if a.current == nil || a.current.left > 0 {
		return
	}
	m := a.current.apply
	a.current = nil
	a.kept.waiting = a.kept.waiting[1:]
	a.deps.Source.publish(m.Delta.To)
	if len(m.Delta.Brokers) > 0 && m.Delta.To.BrokerCount() > 1 {
		for _, shard := range a.deps.Shards {
			ctx.Send(shard, &replica.RecheckAll{})
		}
	}
	m.then()
}

func (m *Apply) then() {
	if then := m.Then; then != nil {
		m.Then = nil
		then()
	}
}
