package fetcher

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/internal/model"
)

// delivery is what a reply leads to.
type delivery struct {
	fetched []delivered
	beyond  []*part // of which the leader is asked where its log begins and ends
}

// delivered is what a replica gets, in the trace of an append that is among it.
type delivered struct {
	*replica.Fetched
	cause trace.Context
}

// deliver takes one partition of a reply.
func (m *machine) deliver(p *part, r *kmsg.FetchResponseTopicPartition, out *delivery, now time.Time) {
	switch kerr.Code(r.ErrorCode) {
	case kerr.None:
	case kerr.OffsetOutOfRange:
		m.occupy(p)
		out.beyond = append(out.beyond, p)
		return
	default:
		// Who leads and at which epoch is the metadata's to say: until it does the leader is asked now and then.
		m.rest(p, now)
		return
	}
	f := &replica.Fetched{
		Handle: p.handle, LeaderEpoch: p.LeaderEpoch, Offset: p.Offset, Batches: r.RecordBatches,
		HighWatermark: model.Offset(r.HighWatermark), LogStart: model.Offset(r.LogStartOffset),
	}
	if d := r.DivergingEpoch; d.EndOffset >= 0 {
		f.Diverging = &replica.EpochEnd{Epoch: model.LeaderEpoch(d.Epoch), End: model.Offset(d.EndOffset)}
	}
	if m.throttled(p) {
		m.quota.Record(int64(len(f.Batches)), now) // of one in sync too: the whole is to be at the limit (KIP-73)
	}
	moved := f.HighWatermark != p.highWatermark || f.LogStart != p.leaderStart
	p.highWatermark, p.leaderStart = f.HighWatermark, f.LogStart
	p.measure()
	switch {
	case f.Diverging != nil || len(f.Batches) > 0:
		m.occupy(p)
	case !moved:
		return
	default:
		p.failures = 0
	}
	out.fetched = append(out.fetched, delivered{f, traceOf(r)})
}

// traceOf reads what the leader says of the records.
func traceOf(r *kmsg.FetchResponseTopicPartition) (cause trace.Context) {
	if r.UnknownTags.Len() > 0 {
		r.UnknownTags.Each(func(tag uint32, value []byte) {
			if tag == private.TraceTag {
				cause = trace.ReadContext(value)
			}
		})
	}
	return cause
}

// occupy leaves a partition to its replica.
func (m *machine) occupy(p *part) {
	p.state = busy
	m.busy++
	m.list(p)
}
