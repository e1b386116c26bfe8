package controller

import (
	"sync/atomic"
	"time"

	"troupe/cluster/controller"
	"troupe/cluster/quorum"
	"troupe/internal/model"
)

// Status is how the metadata quorum stands, as this node sees it.
type Status struct {
	Leader        model.BrokerID // NoBroker while nobody is known to lead
	LeaderEpoch   model.LeaderEpoch
	HighWatermark model.Offset
	// LogEnd is that of this node's own log.
	LogEnd model.Offset
	// Active tells that this node leads and decides: it has applied all that was committed before.
	Active bool
	// Voted is whom this node voted for in LeaderEpoch, NoVoter for none.
	Voted quorum.VoterKey
	// KRaftVersion is the finalized kraft.version, which is the quorum's own and no feature of the metadata.
	KRaftVersion int16
	// Bereft tells that the processes of so many voters have ended that nobody can be elected.
	Bereft bool
	// Votes tells that this node is a voter.
	Votes bool
	// Voters and Observers counts the copies of the log that this node knows of.
	Voters, Observers int
	// Elections counts the epochs that began while this process ran.
	Elections int64
	// State is this node's part in raft; Observes where it follows without a vote.
	State quorum.State
	// Decided is what the controller's machine has counted in all of its lives here.
	Decided controller.Counts
	// CommitLatency is a moving average of the time from a proposal of this leader to its commit, 0 before the first.
	CommitLatency time.Duration
}

// Board is where the actor shows its status, through all of its incarnations.
type Board struct {
	latest atomic.Pointer[Status]
	lacks  atomic.Pointer[string]
	// The actor's alone.
	elections int64
	former    controller.Counts // of the machines of terms that are over
}

// NewBoard shows that nobody is known to lead.
func NewBoard() *Board {
	b := &Board{}
	b.clear()
	return b
}

// Status is the latest one. It is for any goroutine.
func (b *Board) Status() Status { return *b.latest.Load() }

// clear is for the time between two terms.
func (b *Board) clear() {
	var kraftVersion int16
	if before := b.latest.Load(); before != nil {
		kraftVersion = before.KRaftVersion
	}
	b.latest.Store(&Status{KRaftVersion: kraftVersion, Leader: model.NoBroker, LeaderEpoch: model.NoLeaderEpoch, Voted: quorum.NoVoter, Elections: b.elections, Decided: b.former})
}

// Lacks says why no leader of the quorum is reached; empty while one is, and at first. It is for any goroutine.
func (b *Board) Lacks() string {
	if text := b.lacks.Load(); text != nil {
		return *text
	}
	return ""
}

// show publishes how things stand, where that differs.
func (a *Actor) show() {
	if a.log == nil {
		return
	}
	l := a.leading()
	next := Status{
		Leader: l.Leader.ID, LeaderEpoch: l.Epoch, HighWatermark: a.log.HighWatermark(), LogEnd: a.log.LogEnd(), Active: a.machine.Leading(),
		KRaftVersion: a.kraftVersion, Bereft: a.bereft(), Voted: quorum.NoVoter, Voters: len(a.voters()), Observers: a.copies.observers(), Elections: a.board.elections,
	}
	if a.raft != nil {
		next.Voted, next.Votes, next.State = a.raft.Voted(), a.raft.Votes(), a.raft.State()
	}
	next.Decided, next.CommitLatency = a.board.former.Plus(a.machine.Counts()), a.commits.mean
	before := a.board.latest.Load()
	if before.LeaderEpoch != next.LeaderEpoch && before.LeaderEpoch != model.NoLeaderEpoch {
		a.board.elections++
		next.Elections = a.board.elections
	}
	if *before != next {
		a.board.latest.Store(&next)
	}
}

// commits measures how long the quorum takes, one proposal after the other: the next is timed when the last is committed.
type commits struct {
	at   model.Offset // of the record that is timed
	from time.Time    // zero for none
	mean time.Duration
}

func (c *commits) proposed(last model.Offset, now time.Time) {
	if c.from.IsZero() {
		c.at, c.from = last, now
	}
}

// commitShare is the weight of the newest in the average.
const commitShare = 16

func (c *commits) committed(upTo model.Offset, now time.Time) {
	if c.from.IsZero() || upTo < c.at {
		return
	}
	took := now.Sub(c.from)
	if c.mean == 0 {
		c.mean = took
	}
	c.mean += (took - c.mean) / commitShare
	c.from = time.Time{}
}
