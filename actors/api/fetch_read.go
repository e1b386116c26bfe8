package api

import (
	"errors"
	"time"

	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// fetchResult is one partition's part of a Fetch reply.
type fetchResult struct {
	part                             *fetchPart
	code                             kerr.Code
	highWatermark, lastStable, start model.Offset
	region                           partitionlog.Region
	view                             *partitionlog.View        // that region is of
	limit                            model.Offset              // of what this reader may see in it
	aborted                          []partitionlog.AbortedTxn // nil for read_uncommitted
	diverging                        *divergingEpoch
	leader                           *currentLeader
	nearer                           nearer
}

// divergingEpoch tells a reader where its log leaves the leader's (KIP-595).
type divergingEpoch struct {
	epoch model.LeaderEpoch
	end   model.Offset
}

// currentLeader hints at the leader in an error (KIP-951).
type currentLeader struct {
	id    model.BrokerID
	epoch model.LeaderEpoch
}

// fetchLimits are what one read may take.
type fetchLimits struct {
	reader
	readCommitted bool
	left          int  // bytes left of the whole reply
	first         bool // nothing was read yet: one batch is given whatever its size (KIP-74)
	// heldUntil is when the quota is free for which records were held back; zero where none were.
	heldUntil time.Time
}

// fetchedName finds the name of a topic that may be fetched by id; empty when no topic has the id.
func (n *Node) fetchedName(p *fetchPart) string {
	if name := p.name(); name != "" {
		return name
	}
	t, ok := n.Image().TopicByID(p.topic.Value().id)
	if !ok {
		return ""
	}
	return t.Name
}

// readPartition looks at one partition. Errors follow facts/replication.md 5 and 11.
func (n *Node) readPartition(set *fetchSet, p *fetchPart, name string, lim *fetchLimits) fetchResult {
	res := fetchResult{part: p, highWatermark: model.NoOffset, lastStable: model.NoOffset, start: model.NoOffset}
	h := n.Replicas.Get(model.TopicPartition{Topic: name, Partition: p.partition})
	if asked := p.topic.Value(); h == nil || asked.byID && h.TopicID != asked.id {
		if res.code = n.absentFetch(p); res.code == kerr.NotLeaderOrFollower {
			res.leader = n.leaderHint(name, p.partition)
		}
		return res
	}
	if h != p.handle {
		set.bind(p, h)
		p.traffic = n.Stats.Topic(name)
	}
	view, code := leaderView(h, p.leaderEpoch)
	if code == kerr.NotLeaderOrFollower && lim.readsCopy(p) {
		view, code = lim.copyView(h, p)
	}
	if code != kerr.None {
		res.code = code
		if code == kerr.NotLeaderOrFollower || code == kerr.FencedLeaderEpoch {
			res.leader = n.leaderHint(name, p.partition)
		}
		return res
	}
	if res.code = lim.refused(h.Status(), p); res.code != kerr.None {
		return res
	}
	named := p.seen == model.NoOffset
	p.seen = lim.mark(view)
	if res.diverge(view, p); res.code != kerr.None || res.diverging != nil {
		return res
	}
	if named && lim.follows() && p.offset >= view.LogStart && p.offset <= view.LogEnd {
		lim.stands(p)
	}
	if res.nearer = n.nearest(h, p, &lim.reader, view); res.nearer.found {
		res.highWatermark, res.lastStable, res.start = view.HighWatermark, view.LastStable, view.LogStart
		return res
	}
	return n.readRecords(view, lim, res)
}

// diverge is how a reader finds out that its log, or what it has read, is not the leader's any more: it names the epoch
// of the last record that it has (KIP-595). The answer is where that epoch ends here, and the reader cuts its log there.
func (res *fetchResult) diverge(view *partitionlog.View, p *fetchPart) {
	if p.lastFetchedEpoch == model.NoLeaderEpoch {
		return
	}
	epoch, end := view.EpochEnd(p.lastFetchedEpoch)
	switch {
	case epoch == model.NoLeaderEpoch || end == model.NoOffset:
		res.code = kerr.OffsetOutOfRange // an epoch newer than the leader's (measured, facts/README.md)
	case epoch < p.lastFetchedEpoch || end < p.offset:
		res.diverging = &divergingEpoch{epoch: epoch, end: end}
		res.highWatermark, res.lastStable, res.start = view.HighWatermark, view.LastStable, view.LogStart
	}
}

// readRecords finds what a reader may have. Between the high watermark and the log's end an offset is in range and has
// nothing yet; beyond, the reader has what this leader never wrote.
func (n *Node) readRecords(view *partitionlog.View, lim *fetchLimits, res fetchResult) fetchResult {
	p := res.part
	if p.offset < view.LogStart || p.offset > view.LogEnd {
		return fetchResult{part: p, code: kerr.OffsetOutOfRange, highWatermark: model.NoOffset, lastStable: model.NoOffset, start: model.NoOffset}
	}
	res.highWatermark, res.lastStable, res.start = view.HighWatermark, view.LastStable, view.LogStart
	res.view, res.limit = view, readLimit(view, lim.id, lim.readCommitted)
	if lim.readCommitted {
		res.aborted = []partitionlog.AbortedTxn{}
	}
	take := min(int(p.maxBytes), lim.left)
	if p.offset >= res.limit || take <= 0 && !lim.first || n.heldBack(p, lim) {
		return res
	}
	err := res.read(max(take, 0), lim)
	switch {
	case err == nil:
		lim.left -= int(res.region.Len)
		lim.first = lim.first && res.region.Len == 0
	case !errors.Is(err, partitionlog.ErrStale):
		return fetchResult{part: p, code: n.readCode(p.handle, "read", err), highWatermark: model.NoOffset, lastStable: model.NoOffset, start: model.NoOffset}
	case p.handle.View() != view: // retention or a truncation removed what this view shows
		return n.readRecords(p.handle.View(), lim, res)
	}
	return res
}

// read finds the records, and what a read_committed reader has to leave out of them.
func (res *fetchResult) read(maxBytes int, lim *fetchLimits) error {
	region, err := res.view.Read(res.part.offset, res.limit, maxBytes, lim.first)
	if err != nil || region.Len == 0 {
		return err
	}
	if lim.readCommitted {
		aborted, err := res.view.Aborted(res.part.offset, res.limit)
		if err != nil {
			region.Release()
			return err
		}
		res.aborted = append(res.aborted, aborted...)
	}
	res.region = region
	return nil
}
