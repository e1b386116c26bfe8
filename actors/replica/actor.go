package replica

import (
	"log/slog"
	"time"

	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Deps is what the replicas of a broker share.
type Deps struct {
	Self model.BrokerID
	Log  *slog.Logger
	// Fetchers hears of Following and Unfollowed, Alterations of Alter.
	Fetchers, Alterations kit.Ref
	// Eligible tells who may be in the ISR of a replica (see Eligible); nil for nobody. LagMax is replica.lag.time.max.ms; 0 for no
	// rounds.
	Eligible func(h *Handle, id model.BrokerID, epoch model.BrokerEpoch) bool
	LagMax   time.Duration
	// Held tells whether nobody else can lead yet what this broker leads, nil is always; Session is broker.session.timeout.ms.
	// A RecheckAll comes when it ends, every now and then until it goes on, and then.
	Held    func(now time.Time) bool
	Session time.Duration
	// Moved is told, on the replica's goroutine, that a replica lies in another log directory now; nil for nobody. It only signals.
	Moved func(*Handle)
	// TellCopies has leaders publish where their followers are, which costs a little with each fetch.
	TellCopies bool
	// ProducerExpiry is producer.id.expiration.ms.
	ProducerExpiry func() time.Duration
	Journal        journal.Journal
	// Dropped is told, on a shard's goroutine, that a replica is being deleted; nil for nobody. It only signals.
	Dropped func(*Handle)
}

// actor runs one replica: it stages appends in the log, has the disk lanes write them and gives the machine what
// happened. Whatever it publishes goes out at the end of a batch of messages: first the view, then the answers, then
// the watchers, so that who is answered or woken finds the state that was promised.
//
// Invariants (docs/invariants.md, replica): at most one Log of the partition is written to; the next one is opened when
// every job of the one before has ended.
type actor struct {
	deps    *Deps
	kept    *durable
	machine *Machine
	log     *partitionlog.Log // nil while it is being opened
	former  *partitionlog.Log // poisoned; serves readers until the log is open again
	opening bool              // the lanes are at it
	resting bool              // the disk is left alone: it is tried again in a while
	rests   int               // in a row

	stalled     []*Append           // came while the log was being opened
	appends     []*partitionlog.Job // staged in this batch of messages
	outstanding int                 // jobs on their way
	answers     []Wait
	changed     bool // the view must be published
	moved       bool // watchers must be told
	flushJob    *partitionlog.Job
	flushTimer  *kit.Timer
	expiry      *kit.Timer
	expiryAt    time.Time // of expiry
	soonest     time.Time // deadline of the waits added in this batch
	lastJob     bool      // the log's own end is under way
	surveying   surveying
	replacing   replacing
	following   following
	cut         *cut       // nil for none
	isrTimer    *kit.Timer // of the leader of a replicated partition
	freezing    freezing
	grown       bool // followers that wait for data must be told
}

func newActor(deps *Deps, kept *durable) kit.Behavior {
	a := &actor{deps: deps, kept: kept}
	kept.noting.writing = false // what the instance before asked for is not waited for
	a.machine = a.newMachine()
	return a
}

func (a *actor) newMachine() *Machine {
	return NewMachine(a.deps.Self, a.deps.LagMax, func(id model.BrokerID, epoch model.BrokerEpoch) bool {
		return a.deps.Eligible != nil && a.deps.Eligible(a.kept.handle, id, epoch)
	})
}

// Start brings the log up: a new one is there at once, an old one is opened on the bulk lane, and so is a new one of a
// name that the checkpoints still know.
func (a *actor) Start(ctx *kit.Context) {
	h, self := a.kept.handle, ctx.Self()
	h.actor.Store(&self) // the shard may not have come to it when the first producer is told
	fresh := a.kept.fresh
	a.kept.fresh = false
	a.kept.renewed = a.kept.renewed || fresh && h.Dir().Checkpoints.Mention(h.TP)
	if fresh && !a.kept.renewed {
		a.adopt(ctx, partitionlog.New(h.Dir().Env, logDir(h), h.TP, h.Config().Log, h.TopicID))
		a.run(ctx, a.log.Create())
	} else if h.Dir().Err() == nil {
		a.open(ctx)
	}
	a.EndBatch(ctx)
	if a.log != nil {
		a.kept.tell(partitionlog.Recovery{}, nil)
	}
}

func (a *actor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Append:
		a.append(ctx, m)
	case *finished:
		a.finished(ctx, m)
		a.replaced(m)
	case *Watch:
		a.watch(m)
	case *Unwatch:
		a.kept.unwatch(m.Watcher, m.Key)
	case *FollowerFetch:
		a.followerFetched(ctx, m)
	case *Fetched:
		a.fetched(ctx, m)
	case *BecomeLeader, *BecomeFollower, *Resign:
		a.ordered(ctx, m)
	case *Configure:
		a.configure(ctx, m)
	case *DeleteRecords:
		a.deleteRecords(ctx, m)
	case *DescribeProducers:
		a.describeProducers(m)
	case *Survey:
		a.survey(m)
	case *Replace:
		a.replace(m)
	case *Maintain:
		a.maintain(ctx, m)
	case *expire:
		a.expire(ctx)
	case *flushDue:
		a.flush(ctx)
	case *opened:
		a.opened(ctx, m)
	case *reopenDue:
		a.resting = false
		if !a.kept.ending.asked() {
			a.open(ctx)
		}
	case *Altered:
		a.altered(ctx, m)
	case *Recheck:
		a.recheck(ctx)
	case *isrDue:
		a.isrDue(ctx)
	case *lowered:
		a.lowered(ctx, m)
	case *startNoted:
		a.startNoted(ctx, m)
	case *Freeze:
		a.freeze(m)
	case *Swap:
		a.swap(ctx, m)
	case *Thaw:
		a.thaw(ctx, a.freezing.asked)
	case *freezeOver:
		a.thaw(ctx, m.freeze)
	case *foundName:
		a.foundName(ctx, m)
	case *Close:
		a.kept.ending.close = m
		a.unfollow()
	case *Delete:
		a.kept.ending.delete = m
		a.unfollow()
		a.goOffline()
	}
}

// EndBatch hands the staged appends to their lane in one message and publishes what the batch changed.
func (a *actor) EndBatch(ctx *kit.Context) {
	if len(a.appends) > 0 {
		a.submitAppends(ctx)
	}
	a.stageCut(ctx)
	a.awaitFlush(ctx)
	a.stageReplacement(ctx)
	if a.changed && a.log != nil {
		a.publish()
	}
	a.noteStart(ctx)
	a.answer(ctx.Now())
	a.notify(ctx.Turn())
	a.tellPosition(ctx)
	a.armExpiry(ctx)
	a.grantFreeze(ctx)
	a.end(ctx)
}

// notify tells watchers at last.
func (a *actor) notify(t *kit.Turn) {
	switch {
	case a.moved:
		a.kept.notify(t)
	case a.grown:
		a.kept.notifyFollowers(t)
	}
	a.moved, a.grown = false, false
}

// Crashed answers whoever waited: the instance is gone, and the log will be opened anew from its files.
func (a *actor) Crashed(error) { a.dismiss() }

// Stopped does the same for an actor whose shard takes it along; one that ended in order has nothing left to do.
func (a *actor) Stopped(*kit.Context) { a.dismiss() }

// dismiss answers all that was promised. An append whose batch is written but not published is refused: its producer
// sends it again, and the log that is opened from the files knows it as a duplicate.
func (a *actor) dismiss() {
	a.goOffline()
	for i, w := range a.answers {
		if w.Result.Code == kerr.None { // what it would find is not published
			a.answers[i] = w.failed(kerr.NotLeaderOrFollower)
		}
	}
	a.answers = append(a.answers, a.sendAway()...)
	a.answer(time.Time{})
	for _, m := range a.stalled {
		m.Fail(ErrStarting)
	}
	a.stalled = nil
	a.surveying.answer(ErrStarting)
	a.replacing.answer(ErrStarting)
	a.unfreeze(nil, ErrStarting)
	a.unfollow()
	for _, log := range []*partitionlog.Log{a.log, a.former} {
		if log != nil {
			log.Abandon()
		}
	}
	a.kept.notify(nil)
}

// publish makes the log's state visible to connections.
func (a *actor) publish() {
	a.changed = false
	h := a.kept.handle
	v := a.log.View()
	old := h.view.Swap(v)
	a.kept.highWatermark, a.kept.logStart, a.kept.recoveryPoint = v.HighWatermark, v.LogStart, a.log.RecoveryPoint()
	h.size.Store(a.log.Size())
	h.recoveryPoint.Store(int64(a.kept.recoveryPoint))
	h.producers.Store(int64(a.log.ProducerCount()))
	if old == nil || old.HighWatermark != v.HighWatermark || old.LogStart != v.LogStart || old.LastStable != v.LastStable {
		a.moved = true
	} else if old.LogEnd != v.LogEnd {
		a.grown = true
	}
}

// answer tells producers at the end of a batch of messages, after the view was published: one that is told of its offset
// and fetches at once must find the record. The log start is that of now, as Kafka fills it in.
func (a *actor) answer(now time.Time) {
	for i, w := range a.answers {
		if w.Result.Code == kerr.None && a.log != nil {
			w.Result.LogStart = a.log.LogStart()
		}
		if !w.Written.IsZero() && !now.IsZero() { // a crash has no time
			w.Result.Replicating = now.Sub(w.Written)
		}
		w.Sink.AppendDone(w.Index, w.Result)
		a.answers[i] = Wait{}
	}
	a.answers = a.answers[:0]
}

func (a *actor) goOffline() {
	old := a.kept.handle.Status()
	a.kept.handle.status.Store(&Status{LeaderEpoch: old.LeaderEpoch})
	a.moved = true
}

// apply takes over the effects of the machine.
func (a *actor) apply(e Effects) {
	if e.HighWatermark != model.NoOffset {
		a.log.SetHighWatermark(e.HighWatermark)
		a.changed = true
	}
	a.answers = append(a.answers, e.Answers...)
	answerDeletions(e.Deleted)
	a.propose(e.Propose)
}

// answerDeletions may come before the batch's end: that a log begins later was published when it did.
func answerDeletions(over []Deleted) {
	for _, d := range over {
		d.Done(d.Low, d.Code)
	}
}

// sendAway ends a leadership and gives the answers for the producers that waited. In a directory that failed they hear of
// that, though the order that moves the leadership away may come before the write's failure: to every request Kafka answers
// so for a partition in such a directory.
func (a *actor) sendAway() []Wait {
	e := a.machine.Resign()
	if a.kept.handle.Dir().Err() != nil {
		for i, w := range e.Answers {
			e.Answers[i] = w.failed(kerr.KafkaStorageError)
		}
		for i := range e.Deleted {
			e.Deleted[i].Code = kerr.KafkaStorageError
		}
	}
	answerDeletions(e.Deleted)
	return e.Answers
}

// armExpiry keeps one timer, for the earliest deadline. It is not taken back when the wait it was for is over: that
// would cost a timer an append.
func (a *actor) armExpiry(ctx *kit.Context) {
	soonest := a.soonest
	a.soonest = time.Time{}
	if a.expiry != nil {
		if soonest.IsZero() || !soonest.Before(a.expiryAt) {
			return
		}
		a.expiry.Stop()
		a.expiry = nil
	}
	at, ok := a.machine.NextDeadline()
	if !ok {
		return
	}
	a.expiryAt = at
	a.expiry = ctx.After(max(at.Sub(ctx.Now()), time.Millisecond), &expire{})
}

func (a *actor) expire(ctx *kit.Context) {
	a.expiry = nil
	a.apply(a.machine.Expire(ctx.Now()))
}
