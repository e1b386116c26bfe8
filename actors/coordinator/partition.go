package coordinator

import (
	"maps"
	"slices"
	"time"

	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// kept is what a partition's actor finds again after a restart; its goroutine's alone once it runs.
type kept struct {
	lead  *Lead
	image *image.Image // the last one that it was told of
}

// partition is the actor of one partition of the topic: it loads the log into a machine and then runs it.
//
// Invariants:
//  1. the machine has replayed the log up to committed, the batches in flight, and gathered, in this order;
//  2. a reply leaves when everything that was appended before it was made is committed (parked is ordered by offset);
//  3. a batch is appended at the offset that the machine counted on, under the leader epoch that it was loaded under, or
//     not at all (replica.Append): whatever else this log may get, from a former incarnation or from another leader in
//     between, ends in loading it anew.
type partition struct {
	deps *Deps
	kept *kept
	// attempt numbers the loadings: what was asked for before the last one is not taken.
	attempt uint64
	machine Machine // nil until the log is loaded
	loading *loading
	changed []image.TopicDelta // while the log was being loaded

	epoch     model.LeaderEpoch // that the log was loaded under
	next      model.Offset      // of the next record
	committed model.Offset      // the offset after the last committed record
	gathered  *batch.Builder
	flights   []flight
	index     int

	requests  map[Token]*Request
	lastToken Token
	parked    []parked
	timer     *kit.Timer
	timerAt   time.Time
}

// flight is a batch on its way.
type flight struct {
	index int
	base  model.Offset
	end   model.Offset // the offset after it
	// result is the replica's answer, once it is there.
	result *replica.AppendResult
}

// parked is a reply that waits until everything before after is committed.
type parked struct {
	after    model.Offset
	deadline time.Time
	reply    Reply
}

func newPartition(d *Deps, k *kept) kit.Behavior {
	return &partition{deps: d, kept: k, requests: map[Token]*Request{}}
}

// Start loads the log.
func (p *partition) Start(ctx *kit.Context) { p.begin(ctx) }

// Receive passes requests and time to the machine.
func (p *partition) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Request:
		p.request(ctx, m)
	case *Lead:
		p.lead(ctx, m)
	case *Metadata:
		p.kept.image = m.Delta.To
		if p.machine == nil {
			p.changed = append(p.changed, m.Delta.Topics...)
			return
		}
		p.apply(ctx, p.machine.Metadata(p.at(ctx), m.Delta))
	case *pollDue:
		if m.attempt == p.attempt {
			p.poll(ctx)
		}
	case *loaded:
		if m.attempt == p.attempt {
			p.load(ctx, m)
		}
	case *appended:
		if m.attempt == p.attempt {
			p.appended(ctx, m)
		}
	case *due:
		p.timer = nil
		p.due(ctx)
	case *Look:
		p.look(m)
	}
}

// lead follows a newer order. The replica may have had its own first: what was loaded under that epoch, or is on its way, is
// not loaded again.
func (p *partition) lead(ctx *kit.Context, m *Lead) {
	if m.LeaderEpoch <= p.kept.lead.LeaderEpoch {
		return
	}
	p.kept.lead = m
	under := p.epoch
	if l := p.loading; l != nil {
		under = l.epoch
		if l.machine == nil {
			under = model.NoLeaderEpoch
		}
	}
	if under < m.LeaderEpoch {
		p.begin(ctx)
	}
}

// EndBatch appends what the batch of messages led to as one batch of records.
func (p *partition) EndBatch(ctx *kit.Context) {
	p.flush(ctx)
	p.arm(ctx)
}

// Crashed and Stopped send everybody to look for the coordinator again.
func (p *partition) Crashed(error) { p.dismiss() }

// Stopped does the same when the leadership has ended.
func (p *partition) Stopped(*kit.Context) { p.dismiss() }

// dismiss answers everybody who is known here in the order of their requests, whether the machine has them waiting or a reply of
// theirs is parked.
func (p *partition) dismiss() {
	for _, t := range slices.Sorted(maps.Keys(p.requests)) {
		r := p.requests[t]
		r.Give(p.deps.Refuse(r.Call.Body, kerr.NotCoordinator))
	}
	clear(p.requests)
	p.parked = nil
}

func (p *partition) request(ctx *kit.Context, r *Request) {
	if p.deps.Held != nil && !p.deps.Held(ctx.Now()) {
		r.Give(p.deps.Refuse(r.Call.Body, kerr.NotCoordinator))
		return
	}
	if p.machine == nil {
		code := kerr.CoordinatorLoadInProgress
		if p.loading.failed {
			code = kerr.NotCoordinator
		}
		r.Give(p.deps.Refuse(r.Call.Body, code))
		return
	}
	p.lastToken++
	p.requests[p.lastToken] = r
	p.apply(ctx, p.machine.Handle(p.at(ctx), p.lastToken, r.Call))
}

// tellMetadata waits until the log is loaded: before that the machine would bring deleted topics back.
func (p *partition) tellMetadata(ctx *kit.Context) {
	d := image.Delta{To: p.kept.image, Topics: p.changed}
	p.changed = nil
	p.apply(ctx, p.machine.Metadata(p.at(ctx), d))
}

func (p *partition) at(ctx *kit.Context) At { return At{Time: ctx.Now(), Next: p.next} }

// due passes time on, and gives up replies that the replicas keep waiting for too long; their records stay.
func (p *partition) due(ctx *kit.Context) {
	if p.machine == nil {
		return
	}
	p.apply(ctx, p.machine.Due(p.at(ctx)))
	now := ctx.Now()
	for len(p.parked) > 0 && !p.parked[0].deadline.After(now) {
		p.fail(p.parked[0].reply.Token, kerr.CoordinatorNotAvailable)
		p.parked = p.parked[1:]
	}
}

// arm keeps one timer, for what comes first. One that comes too early costs a message.
func (p *partition) arm(ctx *kit.Context) {
	if p.machine == nil {
		return
	}
	at := p.machine.Next()
	if len(p.parked) > 0 && (at.IsZero() || p.parked[0].deadline.Before(at)) {
		at = p.parked[0].deadline
	}
	if at.IsZero() || p.timer != nil && !at.Before(p.timerAt) {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timerAt = at
	p.timer = ctx.After(max(at.Sub(ctx.Now()), 0), &due{})
}

// give answers a request that is still open: one that waited too long has had its answer.
func (p *partition) give(r Reply) {
	if req := p.requests[r.Token]; req != nil {
		delete(p.requests, r.Token)
		req.Give(r.Response)
	}
}

func (p *partition) fail(t Token, code kerr.Code) {
	if req := p.requests[t]; req != nil {
		delete(p.requests, t)
		req.Give(p.deps.Refuse(req.Call.Body, code))
	}
}
