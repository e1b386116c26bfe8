package lag

import (
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// leader answers questions about the partitions that this broker leads, from the replicas' views. Times that are not at hand
// are read by the cold lanes. It takes its time: nobody waits for an answer but the next round.
type leader struct {
	replicas *replica.Directory
	open     []*inquiry // the first is being worked on
}

// NewLeader makes the actor that takes Questions.
func NewLeader(replicas *replica.Directory) kit.Props {
	return kit.Props{Kind: "lag-leader", New: func() kit.Behavior { return &leader{replicas: replicas} }}
}

// inquiry is a question on its way.
type inquiry struct {
	question *Question
	next     int // of its partitions
	answers  []Answer
	cold     []lookup // what a lane has to read before the next partitions are looked at
}

// lookup is one time to be read. result is the lane's until the task is done.
type lookup struct {
	lane       kit.Ref
	view       *partitionlog.View
	at, limit  model.Offset
	answer, in int // the place of the result
	result     int64
}

const (
	// pieceMax and lookupMax are how many partitions are looked at in a row, and how many times a lane reads, so that neither
	// a processor nor a lane is taken for long.
	pieceMax  = 128
	lookupMax = 64
	// pause is the rest between pieces.
	pause = 2 * time.Millisecond
)

// Receive works on one question after the other.
func (l *leader) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Question:
		if l.open = append(l.open, &inquiry{question: m}); len(l.open) == 1 {
			l.step(ctx)
		}
	case *stepDue:
		l.step(ctx)
	case *read:
		// After a restart there may be reads for nobody.
		if len(l.open) > 0 && l.open[0] == m.of {
			m.of.take(m.lookups)
			l.goOn(ctx)
		}
	}
}

// Crashed and Stopped leave nobody waiting.
func (l *leader) Crashed(err error) {
	for _, q := range l.open {
		q.question.Fail(err)
	}
}

// Stopped does the same when the broker stops.
func (l *leader) Stopped(*kit.Context) { l.Crashed(kit.ErrStopped) }

// step looks at the next piece of the first question.
func (l *leader) step(ctx *kit.Context) {
	q := l.open[0]
	all := q.question.Partitions
	for end := min(q.next+pieceMax, len(all)); q.next < end; q.next++ {
		if h := l.replicas.Get(all[q.next].At); h != nil && h.Status().Leader && h.View() != nil {
			q.look(&all[q.next], h)
		}
	}
	l.goOn(ctx)
}

// goOn reads what is not at hand, then takes the next step.
func (l *leader) goOn(ctx *kit.Context) {
	q := l.open[0]
	if len(q.cold) > 0 {
		q.read(ctx)
		return
	}
	if q.next == len(q.question.Partitions) {
		q.question.Give(q.answers)
		if l.open = l.open[1:]; len(l.open) == 0 {
			l.open = nil
			return
		}
	}
	ctx.After(pause, &stepDue{})
}

// look answers for a partition, and leaves what has to be read.
func (q *inquiry) look(w *Wanted, h *replica.Handle) {
	v := h.View()
	a := Answer{At: w.At, Start: v.LogStart, End: v.HighWatermark, Times: make([]int64, len(w.Points))}
	for i, p := range w.Points {
		record := max(p.Offset, a.Start)
		a.Times[i] = Timeless
		switch {
		case record >= a.End: // nothing is left
		case record == p.Known:
			a.Times[i] = Unchanged
		default:
			ms, ok, known := v.TimeAtOnce(record, a.End)
			if ok {
				a.Times[i] = ms
			} else if !known {
				q.cold = append(q.cold, lookup{
					lane: h.Dir().ColdLane(w.At), view: v, at: record, limit: a.End, answer: len(q.answers), in: i, result: Timeless,
				})
			}
		}
	}
	q.answers = append(q.answers, a)
}

// read has a lane do the first lookups that are its own. One that fails leaves its time unknown: what the log has lost
// meanwhile the next round finds elsewhere, and a disk that fails is told of by those who use it.
func (q *inquiry) read(ctx *kit.Context) {
	n := 1
	for n < min(len(q.cold), lookupMax) && q.cold[n].lane == q.cold[0].lane {
		n++
	}
	lookups := q.cold[:n:n]
	q.cold = q.cold[n:]
	self, done := ctx.Self(), &read{of: q, lookups: lookups}
	ctx.Send(lookups[0].lane, &disk.Task{
		Name: "times of committed offsets",
		Do: func() error {
			for i := range lookups {
				u := &lookups[i]
				if ms, ok, err := u.view.TimeAt(u.at, u.limit); ok && err == nil {
					u.result = ms
				}
			}
			return nil
		},
		Done: func(error) { self.Send(done) },
	})
}

func (q *inquiry) take(lookups []lookup) {
	for _, u := range lookups {
		q.answers[u.answer].Times[u.in] = u.result
	}
}
