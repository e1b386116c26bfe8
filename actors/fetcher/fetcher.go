package fetcher

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// fetcher fetches from one leader. The machine says what to ask for and who gets what came.
type fetcher struct {
	deps    *Deps
	leader  model.BrokerID
	machine *machine
	timer   *kit.Timer
	timerAt time.Time
}

type (
	// answer is the reply to the fetch that was on its way.
	answer struct {
		incarnation uint32
		call        *peer.Call
		resp        *kmsg.FetchResponse
		err         error
	}
	// bound is the answer to where a leader's log ends or begins.
	bound struct {
		incarnation uint32
		part        *part
		asked       replica.Position
		timestamp   int64
		offset      model.Offset
		err         error
	}
	// due is the timer of what rests.
	due struct{}
)

func (*answer) MessageKind() string { return "fetcher.answer" }
func (*bound) MessageKind() string  { return "fetcher.bound" }
func (*due) MessageKind() string    { return "fetcher.due" }

// MessageBytes is part of kit.Sized.
func (m *answer) MessageBytes() int {
	n := 0
	if m.resp != nil {
		for i := range m.resp.Topics {
			for j := range m.resp.Topics[i].Partitions {
				n += len(m.resp.Topics[i].Partitions[j].RecordBatches)
			}
		}
	}
	return n
}

// Start asks for what follows this leader when it begins anew.
func (f *fetcher) Start(ctx *kit.Context) {
	if ctx.Incarnation() > 1 {
		ctx.Send(ctx.Parent(), &restarted{f.leader})
	}
}

// Receive gives the machine what happened.
func (f *fetcher) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *replica.Following:
		f.machine.follow(m.Handle, m.Position)
	case *replica.Unfollowed:
		f.machine.unfollow(m.Handle)
	case *replica.Progress:
		f.machine.progress(m, ctx.Now())
		if m.Loan != nil {
			m.Loan.Return()
		}
		ctx.Link(m) // the next fetch tells the leader
	case *answer:
		if m.incarnation == ctx.Incarnation() {
			f.answered(ctx, m)
		}
	case *bound:
		if m.incarnation == ctx.Incarnation() {
			f.bounded(ctx, m)
		}
	case *due:
		f.timer = nil
	}
}

// EndBatch sends the next fetch, when it is time.
func (f *fetcher) EndBatch(ctx *kit.Context) {
	now := ctx.Now()
	f.machine.under(f.deps.Epoch())
	if req := f.machine.next(now); req != nil {
		f.fetch(ctx, req, now)
	}
	f.arm(ctx, now)
}

// arm keeps one timer, for the earliest that anything is due.
func (f *fetcher) arm(ctx *kit.Context, now time.Time) {
	at, ok := f.machine.wakeAt(now)
	if !ok || f.timer != nil && !at.Before(f.timerAt) {
		return
	}
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timerAt = at
	f.timer = ctx.After(max(at.Sub(now), time.Millisecond), &due{})
}

func (f *fetcher) fetch(ctx *kit.Context, req *kmsg.FetchRequest, now time.Time) {
	self, age := ctx.Self(), ctx.Incarnation()
	call := &peer.Call{Link: peer.Broker, Body: req, Deadline: now.Add(f.deps.Limits.Timeout), Turn: ctx.Turn()}
	call.Done = func(resp kmsg.Response, err error) {
		a := &answer{incarnation: age, call: call, err: err}
		if err == nil {
			a.resp = resp.(*kmsg.FetchResponse)
		}
		call.Turn.Send(self, trace.Context{}, a)
	}
	f.deps.Peers.SendCaused(ctx.Cause(), f.leader, call)
}

// answered hands out what came. The bytes lie in the reply's frame, which goes back when no replica has a part of it: when
// each has written its own.
func (f *fetcher) answered(ctx *kit.Context, m *answer) {
	out := f.machine.answered(m.resp, m.err, ctx.Now())
	lent := 0
	for _, d := range out.fetched {
		if len(d.Batches) > 0 {
			lent++
		}
	}
	loan := replica.NewLoan(lent, m.call.Recycle)
	for _, d := range out.fetched {
		d.Fetcher = ctx.Self()
		if n := int64(len(d.Batches)); n > 0 {
			d.Loan = loan
			f.deps.Counts.CopiedIn.Add(n)
			if f.deps.Moves(d.Handle.TP) {
				f.deps.Counts.MovedIn.Add(n)
			}
		}
		d.Handle.SendOn(ctx.Turn(), d.cause, d.Fetched)
	}
	for _, p := range out.beyond {
		f.ask(ctx, p, latest)
	}
}

// The timestamps that stand for a log's end and start (ListOffsets).
const (
	latest   = -1
	earliest = -2
)

// ask finds out where the leader's log ends, then where it begins: the reply to a fetch out of range does not tell.
func (f *fetcher) ask(ctx *kit.Context, p *part, timestamp int64) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 9, int32(f.deps.Self)
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = p.handle.TP.Topic
	asked := kmsg.NewListOffsetsRequestTopicPartition()
	asked.Partition, asked.Timestamp, asked.CurrentLeaderEpoch = p.handle.TP.Partition, timestamp, int32(p.LeaderEpoch)
	t.Partitions = append(t.Partitions, asked)
	req.Topics = append(req.Topics, t)
	self, m := ctx.Self(), &bound{incarnation: ctx.Incarnation(), part: p, asked: p.Position, timestamp: timestamp}
	f.deps.Peers.SendCaused(ctx.Cause(), f.leader, &peer.Call{Link: peer.Broker, Body: req, Done: func(resp kmsg.Response, err error) {
		m.offset, m.err = offsetOf(resp, err)
		self.Send(m)
	}})
}

// offsetOf reads the answer about one partition.
func offsetOf(resp kmsg.Response, err error) (model.Offset, error) {
	if err != nil {
		return model.NoOffset, err
	}
	topics := resp.(*kmsg.ListOffsetsResponse).Topics
	if len(topics) != 1 || len(topics[0].Partitions) != 1 {
		return model.NoOffset, kerr.UnknownTopicOrPartition
	}
	p := topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return model.NoOffset, kerr.Code(p.ErrorCode)
	}
	return model.Offset(p.Offset), nil
}

func (f *fetcher) bounded(ctx *kit.Context, m *bound) {
	p := m.part
	switch {
	case p.gone || p.Position != m.asked: // its replica has another order by now
	case m.err != nil:
		f.machine.rest(p, ctx.Now())
	case m.timestamp == latest:
		p.leaderEnd = m.offset
		f.ask(ctx, p, earliest)
	default:
		p.handle.SendCaused(ctx.Cause(), &replica.Fetched{
			Handle: p.handle, LeaderEpoch: p.LeaderEpoch, Offset: p.Offset, OutOfRange: true, LogStart: m.offset, LogEnd: p.leaderEnd,
			Fetcher: ctx.Self(),
		})
	}
}
