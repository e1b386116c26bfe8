package api

import (
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
	aborted                          []partitionlog.AbortedTxn // nil for read_uncommitted
	diverging                        *divergingEpoch
	leader                           *currentLeader
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
	readCommitted bool
	left          int  // bytes left of the whole reply
	first         bool // nothing was read yet: one batch is given whatever its size (KIP-74)
}

// read looks at one partition. Errors follow facts/replication.md 5 and 11.
func (n *Node) readPartition(set *fetchSet, p *fetchPart, lim *fetchLimits) fetchResult {
	res := fetchResult{part: p, highWatermark: model.NoOffset, lastStable: model.NoOffset, start: model.NoOffset}
	if p.name == "" && p.byID {
		if t, ok := n.Image().TopicByID(p.id); ok {
			p.name = t.Name
		}
	}
	h := n.Replicas.Get(model.TopicPartition{Topic: p.name, Partition: p.partition})
	if h == nil || p.byID && h.TopicID != p.id {
		res.code = n.absentFetch(p)
		return res
	}
	if h != p.handle {
		set.bind(p, h)
		p.traffic = n.Stats.Topic(p.name)
	}
	view, code := leaderView(h, p.leaderEpoch)
	if code != kerr.None {
		res.code = code
		if code == kerr.NotLeaderOrFollower || code == kerr.FencedLeaderEpoch {
			res.leader = n.leaderHint(p.name, p.partition)
		}
		return res
	}
	p.seen = view.HighWatermark
	if res.diverge(view, p); res.code != kerr.None || res.diverging != nil {
		return res
	}
	return n.readRecords(view, lim, res)
}

// diverge compares the last epoch that the reader fetched with the leader's epochs.
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

func (n *Node) readRecords(view *partitionlog.View, lim *fetchLimits, res fetchResult) fetchResult {
	p := res.part
	if p.offset < view.LogStart || p.offset > view.LogEnd {
		res.code = kerr.OffsetOutOfRange
		return res
	}
	res.highWatermark, res.lastStable, res.start = view.HighWatermark, view.LastStable, view.LogStart
	limit := view.HighWatermark
	if lim.readCommitted {
		limit = view.LastStable
		res.aborted = []partitionlog.AbortedTxn{}
	}
	take := min(int(p.maxBytes), lim.left)
	if p.offset >= limit || take <= 0 && !lim.first {
		return res
	}
	region, err := view.Read(p.offset, limit, max(take, 0), lim.first)
	if err != nil {
		n.Log.Error("read failed", "partition", p.handle.TP.String(), "offset", p.offset, "err", err)
		res.code, _ = kerr.Of(err)
		return res
	}
	res.region = region
	if region.Len == 0 {
		return res
	}
	lim.left -= int(region.Len)
	lim.first = false
	if lim.readCommitted {
		aborted, err := view.Aborted(p.offset, limit)
		if err != nil {
			region.Release()
			res.region = partitionlog.Region{}
			res.code, _ = kerr.Of(err)
			return res
		}
		res.aborted = append(res.aborted, aborted...)
	}
	return res
}
