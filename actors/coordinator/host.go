package coordinator

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/codec/compress"
	"troupe/codec/kerr"
)

// Deps is what the coordinators of one topic share.
type Deps struct {
	// Kind names their actors: "group".
	Kind      string
	Directory *Directory
	// New makes the machine that a partition is loaded into.
	New func() Machine
	// Refuse makes error replies, of requests that no machine has seen too.
	Refuse func(kmsg.Request, kerr.Code) kmsg.Response
	// Held tells whether nobody else can lead what this broker led when it last heard from the controller; nil is always. A
	// process that was cut off, or stood still, would answer from a state that others have moved on from.
	Held func(now time.Time) bool
	// LoadBytes is read at once when a partition is loaded.
	LoadBytes int
	// CommitTimeout bounds how long a reply waits for the replicas.
	CommitTimeout time.Duration
	Codec         compress.Codec
	Log           *slog.Logger
}

// host supervises the coordinators of one topic: one for each partition that this broker leads.
type host struct {
	deps *Deps
	kept map[int32]*led
	// image is the newest that the metadata actor brought, which does so before the orders that it leads to. It outlives
	// the instances too.
	image **image.Image
}

// led is a partition that this broker leads, or led until its actor has ended. It outlives the instances of the host.
type led struct {
	handle *replica.Handle
	order  *kept // nil when leadership is lost; its content is the partition's actor's
	ref    kit.Ref
	stage  stage
}

// stage is how far a partition's actor has come.
type stage uint8

const (
	running  stage = iota
	stopping       // asked to; its Terminated is awaited
	gone           // given up; its name is free
)

// NewHost makes the supervisor of a topic's coordinators; it takes Lead and Resign.
func NewHost(d *Deps) kit.Props {
	all, newest := map[int32]*led{}, image.Empty("")
	return kit.Props{Kind: d.Kind + "s", New: func() kit.Behavior { return &host{deps: d, kept: all, image: &newest} }}
}

// Start takes the partitions up again after a panic, which has stopped their actors.
func (h *host) Start(ctx *kit.Context) {
	for _, n := range h.partitions() {
		l := h.kept[n]
		h.deps.Directory.remove(n)
		if l.order == nil {
			delete(h.kept, n)
			continue
		}
		h.run(ctx, l)
	}
}

// Receive follows orders.
func (h *host) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Lead:
		h.lead(ctx, m)
	case *Resign:
		if l := h.kept[m.Partition]; l != nil && l.order != nil && l.handle.TopicID == m.TopicID {
			h.resign(ctx, m.Partition, l)
		}
	case *Metadata:
		*h.image = m.Delta.To
		for _, n := range h.partitions() {
			if l := h.kept[n]; l.stage == running {
				ctx.Send(l.ref, m)
			}
		}
	case kit.Terminated:
		h.terminated(ctx, m.Actor)
	case kit.GaveUp:
		h.gaveUp(ctx, m)
	case *retryDue:
		if l := h.kept[m.partition]; l != nil && l.order != nil && l.stage == gone {
			h.run(ctx, l)
		}
	}
}

// partitions are in order, so that the same events give the same messages.
func (h *host) partitions() []int32 { return slices.Sorted(maps.Keys(h.kept)) }

// Stopped leaves nobody to be asked.
func (h *host) Stopped(*kit.Context) {
	for n := range h.kept {
		h.deps.Directory.remove(n)
	}
}

func (h *host) lead(ctx *kit.Context, m *Lead) {
	n := m.Handle.TP.Partition
	l := h.kept[n]
	switch {
	case l == nil:
		l = &led{handle: m.Handle, order: &kept{lead: m}}
		h.kept[n] = l
		h.run(ctx, l)
	case l.stage == gone:
		l.handle, l.order = m.Handle, &kept{lead: m}
		h.run(ctx, l)
	case l.stage == running && l.handle == m.Handle:
		ctx.Send(l.ref, m)
	default: // it runs when the name is free; a topic may have been deleted and created again
		h.resign(ctx, n, l)
		l.handle, l.order = m.Handle, &kept{lead: m}
	}
}

func (h *host) run(ctx *kit.Context, l *led) {
	deps, order := h.deps, l.order
	n := l.handle.TP.Partition
	order.image = *h.image
	l.stage = running
	l.ref = ctx.Spawn(fmt.Sprint(n), kit.Props{Kind: deps.Kind, New: func() kit.Behavior { return newPartition(deps, order) }})
	deps.Directory.put(n, l.ref)
}

func (h *host) resign(ctx *kit.Context, n int32, l *led) {
	h.deps.Directory.remove(n)
	l.order = nil
	switch l.stage {
	case gone:
		delete(h.kept, n)
	case running:
		l.stage = stopping
		ctx.Stop(l.ref)
	}
}

func (h *host) terminated(ctx *kit.Context, ref kit.Ref) {
	for n, l := range h.kept {
		if l.ref != ref {
			continue
		}
		if l.order == nil {
			delete(h.kept, n)
		} else {
			h.run(ctx, l)
		}
		return
	}
}

// retryAfter is the rest that a coordinator is given which kept failing.
const retryAfter = 10 * time.Second

func (h *host) gaveUp(ctx *kit.Context, m kit.GaveUp) {
	for n, l := range h.kept {
		if l.ref == m.Actor {
			h.deps.Log.Error("coordinator keeps failing", "actor", m.Actor.Name(), "err", m.Err, "again_in", retryAfter)
			h.deps.Directory.remove(n)
			l.stage = gone
			ctx.After(retryAfter, &retryDue{n})
			return
		}
	}
}
