package controller

import (
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/partitionlog"
)

// loadDone is the metadata lane's answer to loading.
type loadDone struct {
	term  *term
	found *loaded
	err   error
}

// due is the tick of sessions and of checkpoints by age.
type due struct{ term *term }

// sessionDue is when a broker's session ends, if that is before the next tick.
type sessionDue struct{ term *term }

// reloadDue ends the rest that a full disk, or a leader without its checkpoint, is given.
type reloadDue struct{ term *term }

func (*loadDone) MessageKind() string   { return "controller.loaded" }
func (*due) MessageKind() string        { return "controller.due" }
func (*sessionDue) MessageKind() string { return "controller.session-due" }
func (*reloadDue) MessageKind() string  { return "controller.reload-due" }

// tickEvery paces the fencing of silent brokers and checkpoints by age.
const tickEvery = 500 * time.Millisecond

// sessionPause parts the fencing of brokers whose sessions end together.
const sessionPause = 5 * time.Millisecond

// Start loads what is on disk.
func (a *Actor) Start(ctx *kit.Context) {
	a.term = a.newTerm()
	a.watchLinks(ctx)
	self, res := ctx.Self(), &loadDone{term: a.term}
	o := quorum.Options{
		Self: a.self(), ElectionTicks: electionTicks, HeartbeatTicks: 1,
		Log: func(text string) { a.deps.Log.Debug("raft", "text", text) },
	}
	first, observe, retired := a.firstCheckpoint(), a.observes(), a.retired
	ctx.Send(a.deps.Dir.Lane(disk.Metadata), &disk.Task{
		Name: "load metadata",
		Do: func() (err error) {
			res.found, err = a.store.load(o, first, a.deps.ClusterID, observe, retired)
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
	c.Voters = a.deps.First
	if len(c.Voters) == 0 && !a.observes() {
		c.Voters = []batch.Voter{a.asVoter()}
	}
	return c
}

// observes tells whether this node does not vote, whatever its log says: it is no controller; or it came to a cluster that
// was there before its directory, unless it has become a voter since, which only a log with its directory's id can say.
func (a *Actor) observes() bool {
	return !a.deps.Config.Roles.Controller || a.deps.Joined
}

// asVoter is this node with the listeners that controllers are reached at.
func (a *Actor) asVoter() batch.Voter {
	me := batch.Voter{ID: a.deps.Config.NodeID, DirectoryID: a.deps.Dir.ID, MostKRaftVersion: 1}
	for _, l := range a.deps.Config.Listeners {
		if l.Controller {
			me.Endpoints = append(me.Endpoints, batch.VoterEndpoint{Name: l.Name, Host: l.Advertised.Host, Port: l.Advertised.Port})
		}
	}
	return me
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
	ctx.After(tickEvery, &due{a.term})
	a.machine = newMachine(a.deps, a.kraftVersion, a.newLevels(m.found.formatted, m.found.log.LogEnd() == 0))
	a.editor = m.found.image.Edit()
	a.applied = m.found.image
	a.checkpoint.last = m.found.image.Offset + 1
	if a.raft == nil {
		a.observe(ctx, m.found)
		return
	}
	a.follow(ctx)
}

// Crashed sends everybody who waits to try again.
func (a *Actor) Crashed(err error) {
	a.end(err)
	a.desk.close(err)
}

// Stopped does the same at the end of the broker.
func (a *Actor) Stopped(*kit.Context) { a.Crashed(kit.ErrStopped) }

// end closes the term. What it still had on the metadata lane runs before the next one loads: the lane keeps the order.
func (a *Actor) end(err error) {
	if a.term == nil {
		return
	}
	if !a.ended {
		a.board.former = a.board.former.Plus(a.machine.Counts())
	}
	a.ended = true
	a.desk.turn(err)
	for _, m := range a.leaving {
		m.Done()
	}
	a.leaving = nil
	if v := a.revision; v != nil {
		v.request.Fail(err)
	}
	a.revision = nil
	if a.ticker != nil {
		a.ticker.stop()
	}
	for _, m := range a.copies.waiting {
		m.Fail(err)
	}
	a.copies.waiting = nil
	if a.log != nil {
		a.log.Abandon()
		a.log, a.raft, a.observer = nil, nil, nil
	}
	a.board.clear()
}

// restFor is how long a full disk is left alone; requests are refused meanwhile.
const restFor = time.Second

// fail ends the term after an error of the disk. What the files hold is taken up again when there is room; any other
// error ends the process.
func (a *Actor) fail(ctx *kit.Context, err error) {
	a.Crashed(err)
	if partitionlog.SyncFailed(err) || !partitionlog.Passes(err) {
		a.deps.Fatal(err)
		return
	}
	if !a.full {
		a.full = true
		a.deps.Log.Error("metadata cannot be written: changes of topics and settings are refused until there is room", "err", err)
	}
	ctx.After(restFor, &reloadDue{a.term})
}

// startOver ends the term and begins another from the files, for want of something that the quorum asked for.
func (a *Actor) startOver(ctx *kit.Context, after time.Duration) {
	a.end(kit.ErrStopped)
	ctx.After(after, &reloadDue{a.term})
}
