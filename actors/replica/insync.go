package replica

import (
	"time"

	"troupe/actors/kit"
)

// followerFetched passes on what a follower has.
func (a *actor) followerFetched(ctx *kit.Context, m *FollowerFetch) {
	a.kept.heard(m)
	a.apply(a.machine.FollowerFetched(m, ctx.Now()))
	a.tellCopies()
}

// tellCopies publishes where the followers are, for those who send consumers to them.
func (a *actor) tellCopies() {
	if a.deps.TellCopies {
		copies := a.machine.Copies()
		a.kept.handle.copies.Store(&copies)
	}
}

// recall gives a new machine what the followers have said under its epoch to the one before: this actor was restarted, or its
// log was opened anew.
func (a *actor) recall(now time.Time) {
	for i := range a.kept.followers {
		a.apply(a.machine.FollowerFetched(&a.kept.followers[i], now))
	}
}

// recheck judges anew who is in sync, and whether this leader is cut off.
func (a *actor) recheck(ctx *kit.Context) {
	if a.log != nil && a.machine.Replicated() {
		now := ctx.Now()
		a.apply(a.machine.Tick(now))
		if a.deps.Held != nil {
			a.apply(a.machine.Hold(a.deps.Held(now), a.deps.Session, now))
		}
	}
}

func (a *actor) isrDue(ctx *kit.Context) {
	a.isrTimer = nil
	a.recheck(ctx)
	a.armISR(ctx)
}

// armISR keeps the round of the leader of a replicated partition; one that is alone has no timer.
func (a *actor) armISR(ctx *kit.Context) {
	switch {
	case !a.machine.Replicated() || a.deps.LagMax <= 0:
		if a.isrTimer != nil {
			a.isrTimer.Stop()
			a.isrTimer = nil
		}
	case a.isrTimer == nil:
		a.isrTimer = ctx.After(max(a.deps.LagMax/2, time.Millisecond), &isrDue{})
	}
}

// altered takes the controller's answer.
func (a *actor) altered(ctx *kit.Context, m *Altered) {
	if a.log != nil {
		a.apply(a.machine.Altered(m, ctx.Now()))
	}
}

// propose has the controller asked. An answer that is lost is asked for again by the next round.
func (a *actor) propose(p *Proposal) {
	if p != nil && !a.deps.Alterations.IsZero() {
		a.deps.Alterations.Send(&Alter{a.kept.handle, *p})
	}
}
