package controller

import (
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Deps is what the controller works with.
type Deps struct {
	Config    *configs.Broker
	ClusterID string
	Clock     clock.Clock
	Dir       *disk.Dir // of the metadata log
	// Committed is what is known of the log from before this start: so far it must be whole.
	Committed model.Offset
	Log       *slog.Logger
	Source    *metadata.Source
	Metadata  kit.Ref
	Rules     controller.Rules
	// Initial is the dynamic configuration of all brokers that a new cluster begins with.
	Initial map[string]string
	// Fatal ends the process: without its metadata log a node can do nothing.
	Fatal func(error)
}

// Actor drives the quorum's and the controller's machine. It begins from the files in every incarnation, so that a
// panic never leads to half-done work being resumed.
type Actor struct {
	deps  Deps
	store *store
	full  bool // a write of the metadata was refused for want of room, and none has passed since
	*term
}

// term is all that is known since the files were loaded. Answers of other actors carry the term that asked, and are
// dropped in the next one.
type term struct {
	log     *partitionlog.Log // nil until loaded
	raft    *quorum.Machine
	machine *controller.Machine
	editor  *image.Editor
	applied *image.Image // the last one sent to the metadata actor

	kraftVersion int16
	early        []*Request // came before this node knew who leads
	requests     map[controller.Token]*Request
	lastToken    controller.Token
	writing      *round
	waiting      []*quorum.Append
	complete     bool // everything that was committed before this start is applied
	growth       quorum.Growth
	checkpoint   checkpointing
	ended        bool // nothing is done any more: the next term is due, or the process ends
}

// New makes the behavior.
func New(d Deps) *Actor {
	m := d.Config.Metadata
	return &Actor{
		deps: d,
		store: &store{env: d.Dir.Env, path: filepath.Join(d.Dir.Path, metadataTopic.String()), now: d.Clock.Now, committed: d.Committed, cfg: partitionlog.Config{
			SegmentBytes: int64(m.SegmentBytes), SegmentMs: m.SegmentAge.Milliseconds(), IndexBytes: 10 << 20,
			IndexIntervalBytes: 4096, RetentionMs: -1, RetentionBytes: -1,
		}},
	}
}

// newTerm knows nothing yet: requests that come before the files were read wait.
func (a *Actor) newTerm() *term {
	d := a.deps
	return &term{
		requests: map[controller.Token]*Request{},
		machine:  newMachine(d, 0), // leads nothing until the files were read
	}
}

// newMachine makes a machine from the configuration; it holds no state of the cluster until it leads.
func newMachine(d Deps, kraftVersion int16) *controller.Machine {
	return controller.New(controller.Options{
		NodeID: d.Config.NodeID, ClusterID: d.ClusterID, Random: rand.Reader, Rules: d.Rules,
		Partitions: d.Config.Topics.Partitions, ReplicationFactor: int16(d.Config.Topics.ReplicationFactor),
		SessionTimeout: d.Config.Membership.SessionTimeout, DeleteTopics: d.Config.Topics.Deletable,
		Features: SupportedFeatures, Levels: newClusterLevels, Initial: d.Initial, KRaftVersion: kraftVersion,
	})
}

// loadDone is the metadata lane's answer to loading.
type loadDone struct {
	term  *term
	found *loaded
	err   error
}

// due is the tick of sessions and of checkpoints by age.
type due struct{ term *term }

// appliedImage says that this broker has applied an image, and with it what the replies wait for.
type appliedImage struct {
	term    *term
	replies []controller.Reply
}

// reloadDue ends the rest that a full disk is given.
type reloadDue struct{}

func (*loadDone) MessageKind() string     { return "controller.loaded" }
func (*due) MessageKind() string          { return "controller.due" }
func (*appliedImage) MessageKind() string { return "controller.applied" }
func (*reloadDue) MessageKind() string    { return "controller.reload-due" }

// tickEvery paces the fencing of silent brokers and checkpoints by age.
const tickEvery = 500 * time.Millisecond

// Start loads what is on disk.
func (a *Actor) Start(ctx *kit.Context) {
	a.term = a.newTerm()
	self, res := ctx.Self(), &loadDone{term: a.term}
	o := quorum.Options{Self: a.self(), Log: func(text string) { a.deps.Log.Debug("raft", "text", text) }}
	first := a.firstCheckpoint()
	ctx.Send(a.deps.Dir.Lane(disk.Metadata), &disk.Task{
		Name: "load metadata",
		Do: func() (err error) {
			res.found, err = a.store.load(o, first, a.deps.ClusterID)
			return err
		},
		Done: func(err error) {
			res.err = err
			self.Send(res)
		},
	})
}

// self is this node as a voter. Voters named in the configuration have no directory ids (kraft.version 0).
func (a *Actor) self() quorum.VoterKey {
	return quorum.VoterKey{ID: a.deps.Config.NodeID, Directory: a.deps.Dir.ID}
}

// firstCheckpoint is what a new node begins with: itself as the only voter, or the voters of the configuration.
func (a *Actor) firstCheckpoint() quorum.Checkpoint {
	c := quorum.Checkpoint{KRaftVersion: 1}
	if len(a.deps.Config.Quorum.Voters) > 0 {
		c.KRaftVersion = 0
		for _, v := range a.deps.Config.Quorum.Voters {
			c.Voters = append(c.Voters, batch.Voter{ID: v.ID})
		}
		return c
	}
	me := batch.Voter{ID: a.deps.Config.NodeID, DirectoryID: a.deps.Dir.ID, MostKRaftVersion: 1}
	for _, l := range a.deps.Config.Listeners {
		if l.Controller {
			me.Endpoints = append(me.Endpoints, batch.VoterEndpoint{Name: l.Name, Host: l.Advertised.Host, Port: l.Advertised.Port})
		}
	}
	c.Voters = []batch.Voter{me}
	return c
}

// Receive passes events to the machines and runs what they ask for.
func (a *Actor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Request:
		a.request(ctx, m)
	case *loadDone:
		a.loaded(ctx, m)
	case *written:
		a.wrote(ctx, m)
	case *appliedImage:
		if m.term == a.term {
			a.answer(m.replies)
		}
	case *checkpointed:
		a.checkpointDone(ctx, m)
	case *keptUp:
		a.keptUp(ctx, m)
	case *due:
		if m.term == a.term && !a.ended {
			a.tick(ctx)
		}
	case *reloadDue:
		a.Start(ctx)
	}
	a.pump(ctx)
}

// Crashed sends everybody who waits to try again.
func (a *Actor) Crashed(err error) { a.end(err) }

// Stopped does the same at the end of the broker.
func (a *Actor) Stopped(*kit.Context) { a.end(kit.ErrStopped) }

// end closes the term. What it still had on the metadata lane runs before the next one loads: the lane keeps the order.
func (a *Actor) end(err error) {
	if a.term == nil {
		return
	}
	a.ended = true
	for _, r := range a.early {
		r.Fail(err)
	}
	for _, r := range a.requests {
		r.Fail(err)
	}
	a.early, a.requests = nil, nil
	if a.log != nil {
		a.log.Abandon()
		a.log, a.raft = nil, nil
	}
}

// restFor is how long a full disk is left alone; requests are refused meanwhile.
const restFor = time.Second

// fail ends the term after an error of the disk. What the files hold is taken up again when there is room; any other
// error ends the process.
func (a *Actor) fail(ctx *kit.Context, err error) {
	a.end(err)
	if partitionlog.SyncFailed(err) || !partitionlog.Passes(err) {
		a.deps.Fatal(err)
		return
	}
	if !a.full {
		a.full = true
		a.deps.Log.Error("metadata cannot be written: changes of topics and settings are refused until there is room", "err", err)
	}
	ctx.After(restFor, &reloadDue{})
}

// loaded takes up what the files held. A node that never served ends on an error, since the operator is watching its
// start; one that has served tries again, because the disk may have been full for a moment.
func (a *Actor) loaded(ctx *kit.Context, m *loadDone) {
	switch {
	case m.term != a.term:
		if m.found != nil {
			m.found.log.Abandon()
		}
		return
	case m.err != nil && a.deps.Source.Image().Offset >= 0:
		a.fail(ctx, m.err) // this node has served: it waits for room
		return
	case m.err != nil:
		a.end(m.err)
		a.deps.Fatal(m.err)
		return
	}
	a.log, a.raft, a.kraftVersion = m.found.log, m.found.raft, m.found.kraftVersion
	a.machine = newMachine(a.deps, a.kraftVersion)
	a.editor = m.found.image.Edit()
	a.applied = m.found.image
	a.checkpoint.last = m.found.image.Offset + 1
	ctx.After(tickEvery, &due{a.term})
}

// request hands a request to the machine; before the first election it waits.
func (a *Actor) request(ctx *kit.Context, r *Request) {
	if a.ended {
		r.Fail(kit.ErrStopped)
		return
	}
	if !a.machine.Leading() && !a.complete {
		a.early = append(a.early, r)
		return
	}
	a.lastToken++
	a.requests[a.lastToken] = r
	a.effects(a.machine.Handle(a.at(ctx), a.lastToken, r.Body))
}

// at is when and where the machine decides: the time, and the offset that its next record will have.
func (a *Actor) at(ctx *kit.Context) controller.At {
	return controller.At{Time: ctx.Now(), Next: a.raft.End()}
}

// effects proposes what the machine wants appended and gives the replies that need not wait for it.
func (a *Actor) effects(e controller.Effects) {
	if len(e.Append) > 0 {
		base, err := a.raft.Propose(e.Append, e.Level)
		if err != nil {
			a.deps.Log.Warn("metadata change not taken", "err", err)
			a.answer(a.machine.Refused())
		} else {
			// From here on the reply waits for the records to be committed and applied.
			a.machine.Appended(base)
		}
	}
	a.answer(e.Replies)
}

// answer gives each reply once: a request that was failed meanwhile is not in the map any more.
func (a *Actor) answer(replies []controller.Reply) {
	for _, r := range replies {
		if req := a.requests[r.Token]; req != nil {
			delete(a.requests, r.Token)
			req.Done(r.Response)
		}
	}
}

// tick goes on whether or not this node leads: the checkpoint is every node's own.
func (a *Actor) tick(ctx *kit.Context) {
	ctx.After(tickEvery, &due{a.term})
	if a.machine.Leading() {
		e, _ := a.machine.Tick(a.at(ctx))
		a.effects(e)
	}
	a.considerCheckpoint(ctx)
}
