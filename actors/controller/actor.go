package controller

import (
	"io"
	"log/slog"
	"path/filepath"

	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/actors/peer"
	"troupe/actors/trace"
	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Peers carries calls to the other nodes, as a *peer.Directory does.
type Peers interface {
	SendCaused(cause trace.Context, id model.BrokerID, c *peer.Call)
	Missed(id model.BrokerID, l peer.Link) *peer.Missed
}

// Deps is what the controller works with.
type Deps struct {
	Config    *configs.Broker
	ClusterID string
	Clock     clock.Clock
	// Incarnation is what this process registers as.
	Incarnation model.UUID
	// First are the voters that the cluster was founded with, this node among them. Joined tells that it was there before this
	// node's directory.
	First  []batch.Voter
	Joined bool
	// Seeds are nodes that may know the leader, for a node that knows no voters yet.
	Seeds  []batch.Voter
	Random io.Reader // of topic ids and placement
	Peers  Peers
	// Links is the `peers` actor, which is told where the voters are and tells of their links; zero where there are none.
	Links kit.Ref
	Dir   *disk.Dir // of the metadata log
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
	board *Board
	full  bool // a write of the metadata was refused for want of room, and none has passed since
	// elsewhere are voters that say that they are reached otherwise than is recorded.
	elsewhere map[quorum.VoterKey][]batch.VoterEndpoint
	absent    absences // nodes that nobody answers for
	// met are the incarnations of the controllers that this node is connected to.
	met map[model.BrokerID]model.UUID
	// retired tells that the leader has said that this node has no vote, which its own log does not say yet.
	retired bool
	desk    desk
	vigil   journal.Reminder // over a quorum without a leader
	*term
}

// term is all that is known since the files were loaded. Answers of other actors carry the term that asked, and are
// dropped in the next one.
type term struct {
	log     *partitionlog.Log // nil until loaded
	raft    *quorum.Machine
	machine *controller.Machine
	// observer is there instead of raft on a node that does not vote.
	observer *observer
	editor   *image.Editor
	applied  *image.Image // the last one sent to the metadata actor

	kraftVersion int16
	outbox       []quorum.Message
	ticker       *ticker // nil while this node is the only voter
	standing     *standing
	leaving      []*HandOver
	commits      commits
	beats        int // of the controller's own clock, see remind
	copies       copies
	revision     *revision
	writing      *round
	waiting      []*quorum.Append
	complete     bool // everything that was committed before this start is applied
	growth       quorum.Growth
	checkpoint   checkpointing
	session      *kit.Timer // of the session that ends before the next tick
	ended        bool       // nothing is done any more: the next term is due, or the process ends
}

// New makes the behavior. What it publishes stands on the board.
func New(d Deps, b *Board) *Actor {
	m := d.Config.Metadata
	return &Actor{
		deps: d, board: b, desk: newDesk(), elsewhere: map[quorum.VoterKey][]batch.VoterEndpoint{}, met: map[model.BrokerID]model.UUID{},
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
		machine: newMachine(d, 0, nil), // leads nothing until the files were read
	}
}

// newMachine makes a machine from the configuration; it holds no state of the cluster until it leads.
func newMachine(d Deps, kraftVersion int16, levels map[string]int16) *controller.Machine {
	r := d.Config.Replication
	if !r.Balance {
		r.BalanceEvery = 0
	}
	return controller.New(controller.Options{
		NodeID: d.Config.NodeID, ClusterID: d.ClusterID, Random: d.Random, Rules: d.Rules,
		Partitions: d.Config.Topics.Partitions, ReplicationFactor: int16(d.Config.Topics.ReplicationFactor),
		SessionTimeout: d.Config.Membership.SessionTimeout, DeleteTopics: d.Config.Topics.Deletable,
		BalanceEvery: r.BalanceEvery, UncleanEvery: r.UncleanEvery,
		Features: SupportedFeatures, Levels: levels, Initial: d.Initial, KRaftVersion: kraftVersion,
	})
}

// Receive passes events to the machines and runs what they ask for.
func (a *Actor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Request:
		a.request(ctx, m)
	case *Raft:
		a.receive(ctx, m)
	case *tick:
		a.ticked(m)
	case *loadDone:
		a.loaded(ctx, m)
	case *written:
		a.wrote(ctx, m)
	case *appliedImage:
		a.published(ctx, m)
	case *forwarded:
		a.returned(ctx, m)
	case *retryDue:
		a.retry(ctx)
	case *lost:
		a.lose(m)
	case *peer.Up:
		a.linkUp(ctx, m)
	case *peer.Down:
		a.linkDown(ctx, m)
	case *Moved:
		a.moved(ctx, m)
	case *standDue:
		a.stand(ctx, m)
	case *HandOver:
		a.handOver(ctx, m)
	case *handOverDue:
		a.handedOver(m.of)
	case *Suspected:
		a.suspect(ctx, m)
	case *Fetch:
		a.fetch(ctx, m)
	case *fetched:
		a.onFetched(ctx, m)
	case *fetchDue:
		if m.term == a.term && !a.ended {
			a.fetchLog(ctx)
		}
	case *copied:
		a.onCopied(ctx, m)
	case *replanted:
		a.onReplanted(ctx, m)
	case *FetchSnapshot:
		a.fetchSnapshot(ctx, m)
	case *chunk:
		a.installed(ctx, m)
	case *checkpointed:
		a.checkpointDone(ctx, m)
	case *keptUp:
		a.keptUp(ctx, m)
	case *due:
		if m.term == a.term && !a.ended {
			a.tick(ctx)
		}
	case *sessionDue:
		if m.term == a.term && !a.ended {
			a.fenceSilent(ctx)
		}
	case *reloadDue:
		if m.term == a.term {
			a.Start(ctx)
		}
	}
	a.pump(ctx)
}

// tick goes on whether or not this node leads: the checkpoint is every node's own.
func (a *Actor) tick(ctx *kit.Context) {
	ctx.After(tickEvery, &due{a.term})
	a.desk.sweep(ctx.Now())
	a.copies.forget(ctx.Now())
	a.fenceSilent(ctx)
	a.remind()
	a.wakeFetches(ctx)
	a.considerJoining(ctx)
	a.considerMoving(ctx)
	a.considerCheckpoint(ctx)
	a.watchQuorum(ctx)
}

// fenceSilent fences brokers whose sessions are over. One that is about to be is looked at again when it is, not with the next
// tick: clients wait for that.
func (a *Actor) fenceSilent(ctx *kit.Context) {
	if !a.machine.Leading() {
		return
	}
	e, next := a.machine.Tick(a.at(ctx))
	a.effects(ctx, e)
	if left := next.Sub(ctx.Now()); !next.IsZero() && left < tickEvery {
		if a.session != nil {
			a.session.Stop()
		}
		a.session = ctx.After(max(left, sessionPause), &sessionDue{a.term})
	}
}
