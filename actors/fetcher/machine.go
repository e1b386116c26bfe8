package fetcher

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

const (
	// longestPoll bounds how long a leader may hold a fetch back when it has nothing: a partition that begins to follow that
	// leader waits for the reply, and that is when a failover waits for it. An idle fetch costs next to nothing.
	longestPoll = 50 * time.Millisecond
	// patience is how long replicas that have written what came wait for those that have not: a slow directory does not hold
	// the others back.
	patience = 5 * time.Millisecond
	// firstRest is the pause after a first failure. It doubles with each to replica.fetch.backoff.ms: most failures are of
	// the moment in which one broker knows of a new leader and the other does not.
	firstRest = 5 * time.Millisecond
	// linkRest bounds the pause after a fetch that was not answered: calls to a node that is down fail at once.
	linkRest = 50 * time.Millisecond
)

// state is what a partition waits for.
type state uint8

const (
	ready   state = iota // may be fetched
	busy                 // its replica has what came, and says when to go on
	resting              // until the time that it has
)

// part is a partition that follows this leader.
type part struct {
	handle *replica.Handle
	replica.Position
	highWatermark, leaderStart model.Offset // the leader's, as last told
	leaderEnd                  model.Offset // while the leader is asked for the bounds of its log
	state                      state
	until                      time.Time // of resting
	failures                   int
	inSession                  bool // the leader's session holds it
	listed                     bool // in machine.changed
	gone                       bool
}

// partKey is how a reply names a partition.
type partKey struct {
	topic     model.TopicID
	partition int32
}

// machine decides what is fetched from one leader. It keeps an incremental session (KIP-227), so that a round costs what
// changed and not what is followed.
//
// Invariants:
//  1. one fetch is on its way at a time;
//  2. of a partition that is busy or rests nothing is on its way: it leaves the session before the next fetch;
//  3. a reply counts for a partition if the position is still that which it answers;
//  4. nothing is asked for of a throttled partition that lags, while the quota of followers is exceeded.
type machine struct {
	self    model.BrokerID
	limits  Limits
	quota   *throttle.Quota
	parts   map[*replica.Handle]*part
	byKey   map[partKey]*part
	changed []*part // to be named in the next fetch, or to be forgotten, as their states say then
	rested  []*part // those that rest
	busy    int

	sessionID    int32
	sessionEpoch int32
	brokerEpoch  model.BrokerEpoch // that the session's requests tell
	flying       bool
	held         int // partitions of the session that can be fetched
	holdUntil    time.Time
	failures     int
	pauseUntil   time.Time
}

func newMachine(self model.BrokerID, l Limits, quota *throttle.Quota) *machine {
	return &machine{self: self, limits: l, quota: quota, parts: map[*replica.Handle]*part{}, byKey: map[partKey]*part{}}
}

// follow begins with a partition, or goes on with it from another position.
func (m *machine) follow(h *replica.Handle, at replica.Position) {
	p := m.parts[h]
	if p == nil {
		p = &part{handle: h}
		m.parts[h], m.byKey[partKey{h.TopicID, h.TP.Partition}] = p, p
	}
	p.failures = 0
	p.forgetMarks()
	m.proceed(p, at)
}

// forgetMarks says that the replica may not have what the leader last told: its log was cut instead, or it took nothing. The
// leader tells again then, also if nothing moves any more.
func (p *part) forgetMarks() { p.highWatermark, p.leaderStart = model.NoOffset, model.NoOffset }

// proceed makes a partition ready at a position.
func (m *machine) proceed(p *part, at replica.Position) {
	m.leave(p)
	p.Position = at
	p.measure()
	m.list(p)
}

// measure tells how far the follower is behind. Of a leader that has not answered yet nothing is known.
func (p *part) measure() {
	if p.highWatermark >= 0 {
		p.handle.SetLag(int64(p.highWatermark - p.Offset))
	}
}

// leave ends what a partition waits for.
func (m *machine) leave(p *part) {
	if p.state == busy {
		m.busy--
	}
	p.state = ready
}

func (m *machine) list(p *part) {
	if !p.listed {
		p.listed = true
		m.changed = append(m.changed, p)
	}
}

// unfollow ends with a partition.
func (m *machine) unfollow(h *replica.Handle) {
	p := m.parts[h]
	if p == nil {
		return
	}
	m.leave(p)
	p.gone = true
	h.SetLag(0)
	delete(m.parts, h)
	if k := (partKey{h.TopicID, h.TP.Partition}); m.byKey[k] == p {
		delete(m.byKey, k)
	}
	m.list(p)
}

// progress goes on with a partition whose replica has written what came.
func (m *machine) progress(g *replica.Progress, now time.Time) {
	p := m.parts[g.Handle]
	if p != nil && p.state == busy && (g.Err != nil || g.Offset <= p.Offset) {
		p.forgetMarks()
	}
	switch {
	case p == nil:
	case g.Err != nil:
		m.rest(p, now)
	case g.LeaderEpoch != p.LeaderEpoch: // of an order before the present one
	case p.state == busy && p.Position == g.Position: // nothing was gained: the same would come at once
		m.rest(p, now)
	default:
		p.failures = 0
		m.proceed(p, g.Position)
	}
}

// rest leaves a partition alone for a while that grows with its failures.
func (m *machine) rest(p *part, now time.Time) {
	m.leave(p)
	p.state, p.until = resting, now.Add(backoff(p.failures, m.limits.Backoff))
	p.failures++
	m.rested = append(m.rested, p)
	m.list(p)
}

func backoff(failures int, most time.Duration) time.Duration {
	return min(firstRest<<min(failures, 10), max(most, firstRest))
}

// next gives the fetch that is to be sent now, nil for none: one is on its way, there is nothing to be fetched, or replicas
// that are about to write what came are waited for.
func (m *machine) next(now time.Time) *kmsg.FetchRequest {
	m.wake(now)
	m.holdBack(now)
	if m.flying || now.Before(m.pauseUntil) || m.busy > 0 && now.Before(m.holdUntil) {
		return nil
	}
	name := m.changes
	if m.sessionID == 0 {
		name = m.everything
	}
	if len(m.parts) == 0 {
		return nil
	}
	req := m.request()
	if !name(req) {
		return nil
	}
	m.flying = true
	return req
}

// under begins a new session when this broker was registered anew: of a partition that is not named the leader would go by the
// epoch that it was last named under, and not let the replica into the ISR.
func (m *machine) under(epoch model.BrokerEpoch) {
	if !m.flying && epoch != m.brokerEpoch {
		m.brokerEpoch = epoch
		m.endSession()
	}
}

// wake makes ready what has rested for long enough.
func (m *machine) wake(now time.Time) {
	still := m.rested[:0]
	for _, p := range m.rested {
		switch {
		case p.gone || p.state != resting:
		case now.Before(p.until):
			still = append(still, p)
		default:
			p.state = ready
			m.list(p)
		}
	}
	clear(m.rested[len(still):])
	m.rested = still
}

// wakeAt is when next may have something to give without another event; false for never.
func (m *machine) wakeAt(now time.Time) (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if m.flying {
		return at, false
	}
	for _, p := range m.rested {
		earlier(p.until)
	}
	if m.busy > 0 && m.busy < len(m.parts) && now.Before(m.holdUntil) {
		earlier(m.holdUntil)
	}
	if len(m.parts) > 0 && now.Before(m.pauseUntil) {
		earlier(m.pauseUntil)
	}
	return at, ok
}

func (m *machine) request() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = 18
	wait := min(m.limits.WaitMax, longestPoll)
	if m.busy > 0 {
		wait = min(wait, patience)
	}
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), m.limits.MinBytes, m.limits.ResponseMaxBytes
	req.SessionID, req.SessionEpoch = m.sessionID, m.sessionEpoch
	req.ReplicaState.ID, req.ReplicaState.Epoch = int32(m.self), int64(m.brokerEpoch)
	return req
}

// answered takes the reply. The session ends with any error of the whole: the leader may have begun anew, or be another.
func (m *machine) answered(resp *kmsg.FetchResponse, err error, now time.Time) (out delivery) {
	m.flying = false
	if err == nil && resp.ErrorCode != 0 {
		err = kerr.Code(resp.ErrorCode)
	}
	if err != nil {
		lost := m.sessionID != 0
		m.endSession()
		if lost && isSessionError(err) { // begun anew at once
			return delivery{}
		}
		m.pauseUntil = now.Add(backoff(m.failures, linkRest))
		m.failures++
		return delivery{}
	}
	m.failures = 0
	m.continueSession(resp.SessionID)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			if p := m.byKey[partKey{t.TopicID, t.Partitions[j].Partition}]; p != nil && p.state == ready && p.inSession && !p.listed {
				m.deliver(p, &t.Partitions[j], &out, now)
			}
		}
	}
	m.holdUntil = now.Add(patience)
	return out
}

func isSessionError(err error) bool {
	return err == kerr.FetchSessionIDNotFound || err == kerr.InvalidFetchSessionEpoch || err == kerr.FetchSessionTopicIDError
}
