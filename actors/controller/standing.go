package controller

import (
	"time"

	"troupe/actors/kit"
	"troupe/cluster/quorum"
	"troupe/internal/model"
)

// standDue ends a pause before a candidacy.
type standDue struct{ of *standing }

func (*standDue) MessageKind() string { return "controller.stand" }

// standing is a voter's attempt at following a leader whose process has ended, without waiting for the election timeout.
// The survivors take turns by their rank, so that two of them do not split the votes.
type standing struct {
	left  int
	every time.Duration
}

// attempts is how many candidacies are tried before the election timeout decides as ever: one that comes before the
// others have noticed is refused by them, since they still hear their leader.
const attempts = 3

// prepareToStand lets the first in rank stand after half a tick, in which the others notice too, and the next ones two
// ticks later each.
func (a *Actor) prepareToStand(ctx *kit.Context, gone model.BrokerID) {
	rank, survivors := 0, 0
	for _, v := range a.raft.Voters() {
		if v.ID == gone {
			continue
		}
		if v.ID == a.deps.Config.NodeID {
			rank = survivors
		}
		survivors++
	}
	turn := 2 * a.pace()
	a.standing = &standing{left: attempts, every: time.Duration(survivors) * turn}
	ctx.After(a.pace()/2+time.Duration(rank)*turn, &standDue{a.standing})
}

// stand begins a candidacy, unless somebody leads by now.
func (a *Actor) stand(ctx *kit.Context, m *standDue) {
	if m.of != a.standing || a.raft == nil {
		return
	}
	if a.raft.Leadership().Leader != quorum.NoVoter || m.of.left == 0 {
		a.standing = nil
		return
	}
	m.of.left--
	a.campaign()
	ctx.After(m.of.every, m)
}

// campaign begins a candidacy; a leader has no use for one.
func (a *Actor) campaign() {
	if err := a.raft.Campaign(); err != nil {
		a.deps.Log.Debug("no candidacy", "err", err)
	}
}
