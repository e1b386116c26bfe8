package replica

import (
	"slices"
	"time"

	"troupe/internal/model"
)

// follower is what a leader knows of another replica, by what it fetched under this leader epoch.
type follower struct {
	id    model.BrokerID
	end   model.Offset      // of its log: the offset that it fetches; -1 before its first fetch
	epoch model.BrokerEpoch // of the process that fetched; -1 when it is not known
	// logStart is where its log begins; -1 before its first fetch.
	logStart model.Offset
	// leaderEnd is where this log ended at its last fetch, fetchedAt when that was.
	leaderEnd model.Offset
	fetchedAt time.Time
	// caughtUpAt is when it last had all that there was.
	caughtUpAt time.Time
}

// Copy is a follower's log as its leader knows it, by the last fetch. Offsets are -1 before the first one.
type Copy struct {
	ID            model.BrokerID
	LogStart, End model.Offset
	CaughtUp      time.Time // when it last had all that there was
}

// Copies lists the followers.
func (m *Machine) Copies() []Copy {
	all := make([]Copy, len(m.followers))
	for i, f := range m.followers {
		all[i] = Copy{f.id, f.logStart, f.end, f.caughtUpAt}
	}
	return all
}

// assign follows a change of the replicas. A member of the ISR counts as caught up at first: nothing speaks against it yet.
func (m *Machine) assign(now time.Time) {
	followers := make([]follower, 0, max(0, len(m.replicas)-1))
	for _, id := range m.replicas {
		if id == m.self {
			continue
		}
		if f := m.follower(id); f != nil {
			followers = append(followers, *f)
			continue
		}
		f := follower{id: id, end: model.NoOffset, leaderEnd: model.NoOffset, epoch: -1, logStart: model.NoOffset}
		if slices.Contains(m.isr, id) {
			f.caughtUpAt = now
		}
		followers = append(followers, f)
	}
	m.followers = followers
}

func (m *Machine) follower(id model.BrokerID) *follower {
	for i := range m.followers {
		if m.followers[i].id == id {
			return &m.followers[i]
		}
	}
	return nil
}

// FollowerFetched takes in where a follower's log ends. A fetch of another leader epoch, of a broker that is no replica, or of
// an earlier process of that broker says nothing about the follower's log as it is now.
func (m *Machine) FollowerFetched(f *FollowerFetch, now time.Time) Effects {
	x := m.follower(f.Replica)
	if !m.leading || f.LeaderEpoch != m.leaderEpoch || x == nil || f.Epoch != -1 && f.Epoch < x.epoch {
		return Effects{HighWatermark: model.NoOffset}
	}
	// All that there was at the fetch before has come by this one: a follower that is always a little behind a busy leader
	// is in sync all the same (facts/replication.md 2).
	switch {
	case f.Offset >= m.logEnd:
		x.caughtUpAt = now
	case x.leaderEnd != model.NoOffset && f.Offset >= x.leaderEnd && x.fetchedAt.After(x.caughtUpAt):
		x.caughtUpAt = x.fetchedAt
	}
	x.end, x.epoch, x.logStart = f.Offset, f.Epoch, f.LogStart
	x.leaderEnd, x.fetchedAt = m.logEnd, now
	m.cutOff = false // until the next look
	proposal := m.propose(now, x)
	e := m.advance(now)
	e.Propose, e.Deleted = proposal, m.deleted(now)
	return e
}

// overtake notes that followers that had everything until now are about to lag: a fetch that waits for news is not heard of
// again until there are some, so the time of their last fetch says nothing.
func (m *Machine) overtake(end model.Offset, now time.Time) {
	if end == m.logEnd {
		return
	}
	for i := range m.followers {
		if f := &m.followers[i]; f.end >= m.logEnd {
			f.caughtUpAt = now
		}
	}
}

// caughtUp is Kafka's rule: all is there, or was within replica.lag.time.max.ms.
func (m *Machine) caughtUp(f *follower, now time.Time) bool {
	return f.end >= m.logEnd || now.Sub(f.caughtUpAt) <= m.lagMax
}

// lowest is the least log end of the maximal ISR. A replica that has caught up and may join the ISR is waited for too: else
// the high watermark would run away from it and it could never join.
func (m *Machine) lowest(now time.Time) model.Offset {
	low := m.logEnd
	isr := m.maximal()
	for i := range m.followers {
		f := &m.followers[i]
		if f.end < low && (slices.Contains(isr, f.id) || m.caughtUp(f, now) && m.eligible(f.id, f.epoch)) {
			low = f.end
		}
	}
	return low
}
