package controller

import (
	"slices"
	"time"

	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// pump runs the quorum's effects until there are none: what was applied may make the machine propose more. Appends and
// messages are only gathered here, so that all of one pass share a write and a sync, and a call to each voter.
func (a *Actor) pump(ctx *kit.Context) {
	if a.observer != nil {
		a.unpark(ctx)
		a.show()
	}
	if a.raft == nil {
		return
	}
	for {
		e, err := a.raft.Take(ctx.Now())
		if err != nil {
			a.fail(ctx, err)
			return
		}
		a.outbox = append(a.outbox, e.Send...)
		if e.Leadership == nil && len(e.Appends) == 0 && len(e.Committed) == 0 {
			if a.unpark(ctx) || a.write(ctx) {
				continue
			}
			break
		}
		a.waiting = append(a.waiting, e.Appends...)
		a.revised(e.Committed)
		if e.Leadership != nil {
			a.led(ctx, *e.Leadership)
		}
		if a.apply(ctx, e.Committed); a.ended {
			return
		}
	}
	if a.ended {
		return
	}
	a.complement(ctx)
	a.grant(ctx)
	a.send(ctx)
	a.show()
}

// led takes note of who leads. Who has lost the leadership answers what it took at once: its records may still be committed
// by the next leader, so the answer can only be one that makes the client, or this node for it, look again.
func (a *Actor) led(ctx *kit.Context, l quorum.Leadership) {
	if !l.Self {
		a.commits.from = time.Time{}
		a.handedOver(nil)
		if a.machine.Leading() {
			a.answer(ctx, a.machine.Resign())
			a.withdraw(ctx)
		}
		if v := a.revision; v != nil {
			a.revision = nil
			v.request.Fail(kerr.NotController)
		}
	}
	if l.Leader != quorum.NoVoter {
		a.standing = nil
		a.desk.news = true
	}
}

// appliedImage says that this broker has applied an image, and with it what the replies wait for.
type appliedImage struct {
	term    *term
	replies []controller.Reply
	last    model.Offset
}

func (*appliedImage) MessageKind() string { return "controller.applied" }

// published gives the replies that waited for this broker, those of another leader too.
func (a *Actor) published(ctx *kit.Context, m *appliedImage) {
	if m.term != a.term || a.ended {
		return
	}
	a.answer(ctx, m.replies)
	a.desk.applied(m.last, ctx.Now())
}

// apply replays what is committed and hands the image on. Replies go out when this broker has applied it, so that a
// client that is told of a change finds it.
func (a *Actor) apply(ctx *kit.Context, entries []quorum.Entry) {
	if len(entries) == 0 {
		return
	}
	led, revised := model.NoLeaderEpoch, false
	for _, e := range entries {
		switch {
		case e.Record != nil:
			if err := a.editor.Apply(e.Offset, e.Epoch, e.Record); err != nil {
				a.fail(ctx, err)
				return
			}
			a.growth.Add(recordBytes, ctx.Now())
		default:
			a.editor.Skip(e.Offset, e.Epoch)
			switch c := e.Control.(type) {
			case batch.LeaderChange:
				led = e.Epoch
			case batch.Voters:
				revised = true
				a.retired = a.retired && slices.ContainsFunc(c.Voters, a.isSelf)
			}
		}
	}
	if revised && !a.revise(ctx) {
		return
	}
	last := entries[len(entries)-1]
	a.commits.committed(last.Offset, ctx.Now())
	// What is committed is what readers of the log may see.
	a.log.SetHighWatermark(last.Offset + 1)
	next, delta := a.editor.Publish()
	// A leader acts from its own LEADER_CHANGE record on: everything of earlier epochs stands before it (KIP-595).
	if l := a.leading(); l.Self && led == l.Epoch {
		a.lead(ctx, l.Epoch, next)
	}
	a.publish(ctx, delta, a.machine.Committed(last.Offset))
	a.applied = next
	if revised {
		a.considerCheckpoint(ctx)
	}
	a.wakeFetches(ctx)
}

// revise goes by a new set of voters. A node that votes by it and did not before, or the other way round, begins anew from
// its files: with raft, or without.
func (a *Actor) revise(ctx *kit.Context) bool {
	clear(a.elsewhere)
	votes := a.raft != nil && a.raft.Votes()
	if a.observer != nil {
		for _, v := range a.observer.reader.Voters() {
			votes = votes || a.isSelf(v) && !a.retired
		}
	}
	if votes != (a.raft != nil) {
		if votes {
			a.deps.Log.Info("this node has a vote now", "voters", len(a.voters()))
		} else {
			a.deps.Log.Info("this node has no vote any more", "voters", len(a.voters()))
			a.send(ctx) // that it is committed: of two voters the one that stays would not learn it from anybody else
		}
		a.startOver(ctx, 0)
		return false
	}
	a.follow(ctx)
	if a.raft != nil && a.raft.Alone() { // perhaps since its leader has left: nobody else can lead
		a.campaign()
	}
	return true
}

// isSelf tells whether a voter is this node with this disk.
func (a *Actor) isSelf(v batch.Voter) bool {
	return v.ID == a.deps.Config.NodeID && v.DirectoryID == a.deps.Dir.ID
}

// publish has this broker apply an image, and then gives the replies that it is the reason of.
func (a *Actor) publish(ctx *kit.Context, d image.Delta, replies []controller.Reply) {
	self, cause, done := ctx.Self(), ctx.Cause(), &appliedImage{a.term, replies, d.To.Offset}
	ctx.Send(a.deps.Metadata, &metadata.Apply{
		Delta: d, Complete: a.complete, Then: func() { self.SendCaused(cause, done) },
	})
}

// complement tells this broker once that its metadata is complete, where that did not come with a change.
func (a *Actor) complement(ctx *kit.Context) {
	if !a.complete && a.raft.Settled() {
		a.complete = true
		a.publish(ctx, image.Diff(a.applied, a.applied), nil)
	}
}

// lead makes the controller active: everything that was committed before is applied now.
func (a *Actor) lead(ctx *kit.Context, epoch model.LeaderEpoch, committed *image.Image) {
	a.complete = true
	a.effects(ctx, a.machine.Lead(a.at(ctx), epoch, committed, a.editor.InTransaction()))
	a.fenceAbsent(ctx)
	// They came while nobody led, and are taken as if they came now.
	for _, r := range a.desk.unpark() {
		a.request(ctx, r)
	}
}
