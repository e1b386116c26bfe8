package api

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/clock"
)

// sessionSafe is how long a session is safe: from any newcomer since its last use, and from a larger one since it was
// opened (facts/replication.md 11).
const sessionSafe = 2 * time.Minute

// Epochs that ask for a whole fetch.
const (
	sessionNew  = 0  // and for a session
	sessionNone = -1 // without one; a session named beside it ends
)

// session is an incremental fetch session (KIP-227). Requests of a session run one at a time; a client that breaks
// that by using two connections is stopped by the epoch.
type session struct {
	id    int32
	byID  bool
	set   fetchSet
	index partIndex    // guarded by set.exclusive
	size  atomic.Int32 // of index

	// Guarded by Sessions.mu.
	epoch    int32 // of the next request
	opened   time.Time
	lastUsed time.Time
}

// Sessions is the broker's cache of fetch sessions. It is safe for concurrent use.
type Sessions struct {
	clock clock.Clock
	slots int

	mu      sync.Mutex
	byID    map[int32]*session
	evicted uint64
}

// NewSessions makes a cache of max.incremental.fetch.session.cache.slots sessions.
func NewSessions(c clock.Clock, slots int) *Sessions {
	return &Sessions{clock: c, slots: slots, byID: make(map[int32]*session)}
}

// Count gives the sessions now held and how many were evicted since the start.
func (s *Sessions) Count() (held int, evicted uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID), s.evicted
}

// bind gives the fetch its partitions: those of its session, or a set of its own.
//
//	id  epoch  meaning (KIP-227)
//	0   0      everything, and open a session
//	0   -1     everything, without a session
//	n   0, -1  the same, and session n ends
//	n   k      what changed in session n, whose epoch must be k
func (s *Sessions) bind(n *Node, r *Request, op *fetchOp) kerr.Code {
	req := r.Body.(*kmsg.FetchRequest)
	if req.SessionEpoch != sessionNew && req.SessionEpoch != sessionNone {
		ss, code := s.resume(req, r.Version >= 13)
		if code != kerr.None {
			return code
		}
		ss.apply(req)
		op.set = &ss.set
		if ss.empty() { // a session ends with its last partition (measured)
			s.close(ss.id)
			return kerr.None
		}
		op.session, op.sessionID, op.incremental = ss, ss.id, true
		return kerr.None
	}
	if req.SessionID != 0 {
		s.close(req.SessionID)
	}
	ss := &session{byID: r.Version >= 13}
	ss.set.follower = op.reader.follows()
	ss.apply(req)
	op.set = &ss.set
	if req.SessionEpoch == sessionNew && r.Version >= 7 && !ss.empty() && s.open(ss) {
		op.session, op.sessionID = ss, ss.id
	}
	return kerr.None
}

// resume finds the session of an incremental fetch and moves its epoch on. The epoch stops a client that lost count, and
// an old request that was held up somewhere, from taking partitions for told that were not.
func (s *Sessions) resume(req *kmsg.FetchRequest, byID bool) (*session, kerr.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss, ok := s.byID[req.SessionID]
	switch {
	case !ok:
		return nil, kerr.FetchSessionIDNotFound
	case ss.epoch != req.SessionEpoch:
		return nil, kerr.InvalidFetchSessionEpoch
	case ss.byID != byID:
		return nil, kerr.FetchSessionTopicIDError
	}
	ss.epoch = nextEpoch(ss.epoch)
	ss.lastUsed = s.clock.Now()
	return ss, kerr.None
}

// nextEpoch wraps from 2^31-1 to 1: 0 means a new session.
func nextEpoch(e int32) int32 {
	if e == 1<<31-1 {
		return 1
	}
	return e + 1
}

// open gives the session a place and an id, if there is one: a free slot, or that of one that is not safe from it.
func (s *Sessions) open(ss *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if len(s.byID) >= s.slots && !s.evictFor(ss, now) {
		return false
	}
	for ss.id == 0 || s.byID[ss.id] != nil {
		var drawn [4]byte
		_, _ = rand.Read(drawn[:]) // does not fail
		ss.id = int32(binary.BigEndian.Uint32(drawn[:]) & (1<<31 - 1))
	}
	ss.epoch, ss.opened, ss.lastUsed = 1, now, now
	s.byID[ss.id] = ss
	return true
}

// evictFor ends the session that was unused for longest, when that is long enough, or the least of those that were opened
// long enough ago, when the newcomer is more.
func (s *Sessions) evictFor(ss *session, now time.Time) bool {
	var oldest, least *session
	for _, o := range s.byID {
		if oldest == nil || o.lastUsed.Before(oldest.lastUsed) {
			oldest = o
		}
		if now.Sub(o.opened) > sessionSafe && (least == nil || o.less(least)) {
			least = o
		}
	}
	victim := least
	if oldest != nil && now.Sub(oldest.lastUsed) > sessionSafe {
		victim = oldest
	} else if victim == nil || !victim.less(ss) {
		return false
	}
	delete(s.byID, victim.id)
	s.evicted++
	victim.end()
	return true
}

// less ranks sessions: a follower's is more than any consumer's, then the number of partitions counts (KIP-227).
func (ss *session) less(o *session) bool {
	if ss.set.follower != o.set.follower {
		return o.set.follower
	}
	return ss.size.Load() < o.size.Load()
}

func (s *Sessions) close(id int32) {
	s.mu.Lock()
	ss := s.byID[id]
	delete(s.byID, id)
	s.mu.Unlock()
	if ss != nil {
		ss.end()
	}
}

// end gives up the watches of a session that has lost its place; a request that is at work on it comes first.
func (ss *session) end() {
	ss.set.exclusive.Lock()
	defer ss.set.exclusive.Unlock()
	ss.set.release()
}

// partitionKeys appends the ordering keys of a session's partitions.
func (s *Sessions) partitionKeys(id int32, dst []uint64) []uint64 {
	s.mu.Lock()
	ss := s.byID[id]
	s.mu.Unlock()
	if ss == nil {
		return dst
	}
	ss.set.exclusive.Lock()
	defer ss.set.exclusive.Unlock()
	for _, p := range ss.set.parts {
		if p != nil {
			dst = append(dst, partitionKey(p.name(), p.partition))
		}
	}
	return dst
}

// apply takes over what the request adds, changes and forgets. Of a partition named twice the last mention counts.
func (ss *session) apply(req *kmsg.FetchRequest) {
	ss.set.exclusive.Lock()
	defer ss.set.exclusive.Unlock()
	defer func() { ss.size.Store(int32(ss.index.n)) }()
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := unique.Make(topicName{t.Topic, t.TopicID, ss.byID})
		for j := range t.Partitions {
			p := &t.Partitions[j]
			k := partKey{topic, p.Partition}
			if known := ss.index.find(ss.set.parts, k); known != nil {
				known.update(p)
				ss.set.touch(known)
				continue
			}
			part := newFetchPart(k, p)
			ss.set.add(part)
			ss.index.put(ss.set.parts, part)
		}
	}
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		topic := unique.Make(topicName{t.Topic, t.TopicID, ss.byID})
		for _, p := range t.Partitions {
			if known := ss.index.find(ss.set.parts, partKey{topic, p}); known != nil {
				ss.index.remove(ss.set.parts, known)
				ss.set.drop(known)
			}
		}
	}
}

func (ss *session) empty() bool { return ss.size.Load() == 0 }

// changed keeps the results that tell the client something new: records, an error, a diverging epoch, a preferred replica, or
// a moved high watermark or log start offset.
func (ss *session) changed(results []fetchResult) []fetchResult {
	kept := results[:0]
	for _, res := range results {
		if res.code == kerr.None && res.region.Len == 0 && res.diverging == nil && !res.nearer.found && !res.news() {
			continue
		}
		kept = append(kept, res)
	}
	return kept
}

// news tells whether a partition's marks differ from those that its session's client knows. A moved last stable offset
// alone is no news (facts/replication.md 11).
func (res *fetchResult) news() bool {
	p := res.part
	return !p.told || p.toldHighWatermark != res.highWatermark || p.toldLogStart != res.start
}
