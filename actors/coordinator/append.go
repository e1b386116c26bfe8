package coordinator

import (
	"time"

	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// patience is how long a replica may keep a batch waiting for its followers before it answers that it did not commit
// in time. Clients are answered long before (Deps.CommitTimeout), and the state is right at any time.
const patience = time.Hour

// apply takes over what the machine wants done. Records that no batch can hold are taken back at once, before anything
// is decided on them.
func (p *partition) apply(ctx *kit.Context, e Effects) {
	if len(e.Append) > 0 && !p.gather(ctx, e.Append) {
		for _, r := range e.Replies {
			p.fail(r.Token, kerr.UnknownServerError)
		}
		p.apply(ctx, p.machine.Rollback(p.at(ctx), p.next, kerr.UnknownServerError))
		e.Replies = nil
	}
	for _, r := range e.Now {
		p.give(r)
	}
	deadline := ctx.Now().Add(p.deps.CommitTimeout)
	for _, r := range e.Replies {
		if p.next <= p.committed {
			p.give(r)
			continue
		}
		p.parked = append(p.parked, parked{after: p.next, deadline: deadline, reply: r})
	}
}

// recordOverhead is more than a record has beside its key and value, without headers.
const recordOverhead = 32

// gather adds records to the batch under way. They stay together; false means that they fit in no batch.
func (p *partition) gather(ctx *kit.Context, records []Record) bool {
	most := p.kept.lead.Handle.Config().MaxBatchBytes
	size := batch.HeaderSize
	for _, r := range records {
		size += len(r.Key) + len(r.Value) + recordOverhead
	}
	if size > most {
		p.deps.Log.Error("records of one change do not fit in a batch", "partition", p.kept.lead.Handle.TP.String(), "bytes", size, "max.message.bytes", most)
		return false
	}
	if p.gathered != nil && p.gathered.Size()+size > most {
		p.flush(ctx)
	}
	if p.gathered == nil {
		p.gathered = batch.NewBuilder(batch.Options{Codec: p.deps.Codec, Level: compress.DefaultLevel(p.deps.Codec)})
	}
	now := ctx.Now().UnixMilli()
	for _, r := range records {
		p.gathered.Add(batch.Record{Timestamp: now, Key: r.Key, Value: r.Value})
	}
	p.next += model.Offset(len(records))
	return true
}

// flush appends what is gathered.
func (p *partition) flush(ctx *kit.Context) {
	if p.gathered == nil {
		return
	}
	count := model.Offset(p.gathered.Count())
	v, err := p.gathered.Build()
	if err != nil {
		panic(err) // the codec was checked at the start
	}
	p.gathered = nil
	p.index++
	f := flight{index: p.index, base: p.next - count, end: p.next}
	p.flights = append(p.flights, f)
	p.kept.lead.Handle.SendCaused(ctx.Cause(), &replica.Append{
		Batch: v, AllAcks: true, Deadline: ctx.Now().Add(patience), Coordinator: true, LeaderEpoch: p.epoch, Base: f.base,
		Sink: sink{ctx.Self(), p.attempt}, Index: f.index,
	})
}

// sink turns a replica's answer into a message.
type sink struct {
	to      kit.Ref
	attempt uint64
}

// AppendDone is part of replica.AppendSink.
func (s sink) AppendDone(index int, r replica.AppendResult) {
	s.to.Send(&appended{attempt: s.attempt, index: index, result: r})
}

// appended follows the fate of the batches in flight, the oldest first: a refusal overtakes the answers to what is being
// written before it.
func (p *partition) appended(ctx *kit.Context, m *appended) {
	for i := range p.flights {
		if p.flights[i].index == m.index {
			p.flights[i].result = &m.result
		}
	}
	for len(p.flights) > 0 && p.flights[0].result != nil {
		f := p.flights[0]
		switch {
		case f.result.Code == kerr.None:
			p.flights = p.flights[1:]
			p.commit(ctx, f.end)
		case f.result.Refused && f.result.Code != kerr.NotLeaderOrFollower:
			p.rollback(ctx, f.base, replyCode(f.result.Code))
		default:
			// The leadership is gone, or the log has what the machine does not know, or may have what it took back.
			p.deps.Log.Warn("coordinator loads its partition anew", "partition", p.kept.lead.Handle.TP.String(), "err", f.result.Code)
			p.begin(ctx)
		}
	}
}

// commit lets go what waited for everything before end. The machine hears of it after the replies: what it then does
// depends on nothing that they do not tell.
func (p *partition) commit(ctx *kit.Context, end model.Offset) {
	p.committed = end
	n := 0
	for n < len(p.parked) && p.parked[n].after <= end {
		p.give(p.parked[n].reply)
		n++
	}
	p.parked = p.parked[n:]
	p.apply(ctx, p.machine.Committed(p.at(ctx), end))
}

// rollback takes back everything from an offset on. What is in flight behind it does not stand where it was counted on,
// so the log refuses it too.
func (p *partition) rollback(ctx *kit.Context, from model.Offset, code kerr.Code) {
	p.flights, p.gathered = nil, nil
	p.next = from
	for n, w := range p.parked {
		if w.after <= from {
			continue
		}
		for _, lost := range p.parked[n:] {
			p.fail(lost.reply.Token, code)
		}
		p.parked = p.parked[:n]
		break
	}
	p.apply(ctx, p.machine.Rollback(p.at(ctx), from, code))
}

// replyCode is what clients hear of an append that failed: whatever makes them try again.
func replyCode(c kerr.Code) kerr.Code {
	switch c {
	case kerr.NotEnoughReplicas, kerr.UnknownTopicOrPartition, kerr.RequestTimedOut:
		return kerr.CoordinatorNotAvailable
	case kerr.NotLeaderOrFollower, kerr.KafkaStorageError:
		return kerr.NotCoordinator
	}
	return kerr.UnknownServerError
}
