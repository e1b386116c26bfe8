package replica

import (
	"fmt"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/internal/model"
)

// noting is what the checkpoint of log starts is to learn. Segments stay until retention takes them, so that a start that only
// memory knew would bring deleted records back with the next process (DeleteRecords, and a follower of who did it).
type noting struct {
	// due is set while the checkpoint does not know where the log begins; it knows former.
	due    bool
	former model.Offset
	// writing tells that a lane is at it, failed that the disk refused: maintain tries again.
	writing, failed bool
}

// startNoted says that a start stands in the checkpoint.
type startNoted struct {
	incarnation uint32
	start       model.Offset
	err         error
}

func (*startNoted) MessageKind() string { return "replica.start-noted" }

// startRaised has the checkpoint learn of it, after the view was published: who writes all of the checkpoint reads those.
func (a *actor) startRaised(from model.Offset) {
	n := &a.kept.noting
	if !n.due {
		n.due, n.former = true, from
	}
	n.failed = false
}

// lastingStart is where the log begins whatever becomes of this process; others are told of no other start.
func (a *actor) lastingStart() model.Offset {
	if a.kept.noting.due {
		return a.kept.noting.former
	}
	return a.log.LogStart()
}

// noteStart is called at the end of each batch of messages.
func (a *actor) noteStart(ctx *kit.Context) {
	n := &a.kept.noting
	if !n.due || n.writing || n.failed || a.log == nil || a.kept.ending.asked() {
		return
	}
	n.writing = true
	a.outstanding++
	h, self := a.kept.handle, ctx.Self()
	done := &startNoted{incarnation: ctx.Incarnation(), start: a.log.LogStart()}
	ctx.Send(h.Dir().BulkLane(h.TP), &disk.Task{
		Name: fmt.Sprintf("note that %s begins at %d", h.TP, done.start),
		Do:   func() error { return h.Dir().Checkpoints.Raise(h.TP, done.start) },
		Done: func(err error) {
			done.err = err
			self.Send(done)
		},
	})
}

func (a *actor) startNoted(ctx *kit.Context, m *startNoted) {
	if m.incarnation != ctx.Incarnation() {
		return
	}
	a.outstanding--
	n := &a.kept.noting
	n.writing, n.failed = false, m.err != nil
	if m.err != nil || a.log == nil {
		return
	}
	n.former, n.due = m.start, m.start < a.log.LogStart()
	a.following.due = a.following.due || a.following.told
	a.apply(a.machine.StartNoted(m.start, ctx.Now()))
}
