package controller

import (
	"sync/atomic"

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
	// Votes tells that this node is a voter.
	Votes bool
	// Voters and Observers counts the copies of the log that this node knows of.
	Voters, Observers int
	// Elections counts the epochs that began while this process ran.
	Elections int64
}

// Board is where the actor shows its status, through all of its incarnations.
type Board struct {
	latest    atomic.Pointer[Status]
	elections int64 // the actor's alone
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
	b.latest.Store(&Status{Leader: model.NoBroker, LeaderEpoch: model.NoLeaderEpoch, Voted: quorum.NoVoter, Elections: b.elections})
}

// show publishes how things stand, where that differs.
func (a *Actor) show() {
	if a.log == nil {
		return
	}
	l := a.leading()
	next := Status{
		Leader: l.Leader.ID, LeaderEpoch: l.Epoch, HighWatermark: a.log.HighWatermark(), LogEnd: a.log.LogEnd(), Active: a.machine.Leading(),
		Voted: quorum.NoVoter, Voters: len(a.voters()), Observers: a.copies.observers(), Elections: a.board.elections,
	}
	if a.raft != nil {
		next.Voted, next.Votes = a.raft.Voted(), a.raft.Votes()
	}
	before := a.board.latest.Load()
	if before.LeaderEpoch != next.LeaderEpoch && before.LeaderEpoch != model.NoLeaderEpoch {
		a.board.elections++
		next.Elections = a.board.elections
	}
	if *before != next {
		a.board.latest.Store(&next)
	}
}
