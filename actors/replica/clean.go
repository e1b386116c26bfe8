package replica

import (
	"errors"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/partitionlog"
	"troupe/partitionlog/producer"
)

// Survey asks for what a cleaner has to know before it begins: the log as it is now, and the producers, whose last
// batches stay. Everything in that view is flushed first, since the cleaner drops records on the word of markers in it.
type Survey struct {
	Done func(*partitionlog.View, []producer.Entry, error) // called once, on the actor's goroutine
}

// Replace asks the owner of a log to put cleaned segments in place. Done is called once, on the actor's goroutine: with
// nil when they are there. After an error the cleaner discards them, as far as the log has not taken them.
type Replace struct {
	Replacement *partitionlog.Replacement
	Done        func(error)
}

func (*Survey) MessageKind() string  { return "replica.survey" }
func (*Replace) MessageKind() string { return "replica.replace" }

// Fail ends the cleaning.
func (m *Survey) Fail(err error) { m.Done(nil, nil, err) }

// Fail ends the cleaning.
func (m *Replace) Fail(err error) { m.Done(err) }

// replacing is a Replace that waits for its turn among the log's jobs, or whose job is under way.
type replacing struct {
	message *Replace
	job     *partitionlog.Job
}

func (r *replacing) answer(err error) {
	if m := r.message; m != nil {
		*r = replacing{}
		m.Done(err)
	}
}

// dismiss gives up what no job has begun.
func (r *replacing) dismiss(err error) {
	if r.job == nil {
		r.answer(err)
	}
}

// surveying is a Survey that waits for the flush.
type surveying struct {
	message   *Survey
	view      *partitionlog.View
	producers []producer.Entry
}

// answer comes once: by the flush that the survey waited for, or by whatever ends the log before it.
func (s *surveying) answer(err error) {
	if m := s.message; m != nil {
		v, p := s.view, s.producers
		*s = surveying{}
		m.Done(v, p, err)
	}
}

// survey keeps the view of this moment and answers when all that it shows is flushed (awaitFlush). One at a time is enough:
// a directory's cleaner has one run a log.
func (a *actor) survey(m *Survey) {
	if a.log == nil || a.kept.ending.asked() || a.frozen() || a.surveying.message != nil {
		m.Done(nil, nil, ErrStarting)
		return
	}
	a.surveying = surveying{m, a.log.View(), a.log.Producers()}
}

// awaitFlush answers the survey once what it tells of is flushed.
func (a *actor) awaitFlush(ctx *kit.Context) {
	s := &a.surveying
	switch {
	case s.message == nil:
	case a.log == nil || a.kept.ending.asked():
		s.answer(ErrStarting)
	case a.log.Flushed() >= s.view.LogEnd:
		s.answer(nil)
	default:
		a.flush(ctx)
	}
}

// replace keeps the request until the log takes it: while files are renamed by other work there is nothing to be staged.
func (a *actor) replace(m *Replace) {
	if a.replacing.message != nil || a.frozen() {
		m.Done(partitionlog.ErrBusy)
		return
	}
	a.replacing = replacing{message: m}
}

// stageReplacement tries at the end of each batch of messages: what it waits for ends with one.
func (a *actor) stageReplacement(ctx *kit.Context) {
	r := &a.replacing
	if r.message == nil || r.job != nil {
		return
	}
	if a.log == nil || a.kept.ending.asked() {
		r.answer(ErrStarting)
		return
	}
	job, err := a.log.Replace(r.message.Replacement, ctx.Now().UnixMilli())
	switch {
	case errors.Is(err, partitionlog.ErrBusy):
	case err != nil:
		r.answer(err)
	default:
		r.job = job
		a.run(ctx, job)
	}
}

// replaced answers the cleaner once the job is done and the new view can be published.
func (a *actor) replaced(m *disk.Finished) {
	for i, job := range m.Jobs {
		if job == a.replacing.job && job != nil {
			a.replacing.answer(m.Errs[i])
		}
	}
}
