package api

import (
	"slices"
	"sync"

	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/actors/trace"
)

// watchState is what the replica was asked for. A fetch without session is over after one wake, so its watch is too; a
// session's watch stays from poll to poll, or each poll would cost two messages a partition.
type watchState uint8

const (
	unwatched watchState = iota
	watchedOnce
	watchedAlways
)

// fetchSet is the partitions of a fetch or of a session, with a queue of those worth looking at. What did not change
// since it was last read empty is not in the queue, so that a poll costs what changed, not what is subscribed to.
//
// Replicas call Changed from their own goroutines; everything else is called by one request at a time, which holds
// exclusive: the ordering key of a session sees to it on one connection, but a client may use its session on two.
//
// Invariants:
//  1. a partition with something to tell is in the queue, or its watch will put it there: arm passes on what was seen, and
//     a replica that has moved on since calls at once;
//  2. a partition is in the queue once at the most (queued);
//  3. parts[p.key] is p until p is dropped, so a late call finds nothing or a partition that is merely looked at.
type fetchSet struct {
	exclusive sync.Mutex
	follower  bool // the reader is another broker; fixed when the set is made

	mu    sync.Mutex
	parts []*fetchPart // by watch key
	free  []uint32     // keys of parts that were dropped, to be given again
	queue []*fetchPart
	wake  kit.Errand
}

// add puts a partition in and queues it.
func (s *fetchSet) add(p *fetchPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		// A late call for the part that had the key only makes this one be looked at.
		p.key, s.free = s.free[n-1], s.free[:n-1]
		s.parts[p.key] = p
	} else {
		p.key = uint32(len(s.parts))
		s.parts = append(s.parts, p)
	}
	s.push(p)
}

// touch queues a partition of which the client changed its offset or limit.
func (s *fetchSet) touch(p *fetchPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(p)
}

// push is for holders of mu.
func (s *fetchSet) push(p *fetchPart) {
	if !p.queued && !p.gone {
		p.queued = true
		s.queue = append(s.queue, p)
	}
}

// take empties the queue; what Changed names from now on is queued anew.
func (s *fetchSet) take(wake kit.Errand) []*fetchPart {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queue
	s.queue = nil
	for _, p := range q {
		p.queued = false
	}
	s.wake = wake
	return q
}

// putBack queues parts again, in order, before what was queued meanwhile when front is set.
func (s *fetchSet) putBack(parts []*fetchPart, front bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.queue
	if front {
		s.queue = make([]*fetchPart, 0, len(parts)+len(late))
		for _, p := range late {
			p.queued = false
		}
	}
	for _, p := range parts {
		s.push(p)
	}
	if front {
		for _, p := range late {
			s.push(p)
		}
	}
}

// Changed queues the partition and wakes the poll that waits, if any.
func (s *fetchSet) Changed(t *kit.Turn, key uint32) {
	s.mu.Lock()
	p := s.parts[key]
	if p == nil { // dropped while the call was on its way
		s.mu.Unlock()
		return
	}
	if p.watch == watchedOnce {
		p.watch = unwatched
	}
	s.stir(t, p)
}

// Unwatched queues the partition, too: whoever looks at it next asks for a watch again.
func (s *fetchSet) Unwatched(key uint32) {
	s.mu.Lock()
	p := s.parts[key]
	if p == nil {
		s.mu.Unlock()
		return
	}
	p.watch = unwatched
	s.stir(nil, p)
}

// stir queues a partition and wakes the poll that waits. It ends the caller's hold of mu.
func (s *fetchSet) stir(t *kit.Turn, p *fetchPart) {
	s.push(p)
	wake := s.wake
	s.mu.Unlock()
	if wake != nil {
		t.Then(wake)
	}
}

// arm watches the partitions that are not watched yet, for a request of that trace.
func (s *fetchSet) arm(t *kit.Turn, cause trace.Context, parts []*fetchPart, once bool) {
	for _, p := range parts {
		if p.handle == nil || p.gone {
			continue
		}
		s.mu.Lock()
		fresh := p.watch == unwatched
		if fresh {
			p.watch = watchedAlways
			if once {
				p.watch = watchedOnce
			}
		}
		s.mu.Unlock()
		if fresh {
			p.handle.SendOn(t, cause, &replica.Watch{Watcher: s, Key: p.key, Seen: p.seen, ToEnd: s.follower, Once: once})
		}
	}
}

// bind points a partition to the replica that is here now; watches of another one are void.
func (s *fetchSet) bind(p *fetchPart, h *replica.Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.handle, p.watch = h, unwatched
}

// drop takes a partition out. The replica forgets the watch when it comes to the message; until then its calls find the
// place empty.
func (s *fetchSet) drop(p *fetchPart) {
	s.mu.Lock()
	p.gone = true
	s.parts[p.key] = nil
	s.free = append(s.free, p.key)
	watched := p.watch != unwatched
	p.watch = unwatched
	s.mu.Unlock()
	if watched && p.handle != nil {
		p.handle.Send(&replica.Unwatch{Watcher: s, Key: p.key})
	}
}

// release ends all watches. A set that was released gives nothing any more.
func (s *fetchSet) release() {
	s.mu.Lock()
	s.wake = nil
	parts := slices.Clone(s.parts)
	s.mu.Unlock()
	for _, p := range parts {
		if p != nil {
			s.drop(p)
		}
	}
}

// disarm forgets the wake of a poll that was answered.
func (s *fetchSet) disarm() {
	s.mu.Lock()
	s.wake = nil
	s.mu.Unlock()
}
