package listener

import (
	"slices"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/actors/kit"
	"troupe/actors/trace"
)

// pending is a request between its arrival and its reply, in the order of its connection. It is the request's api.Slot.
type pending struct {
	conn        *conn
	handler     *api.Handler
	version     int16
	correlation int32
	request     api.Request // as the handler has it
	keys        []uint64    // made when first needed
	received    time.Time
	span        trace.Activity
	size        int64        // credits taken
	broker      *kit.Credits // of which, beside the connection's own
	chunk       *chunk       // nil once the body needs no bytes of the frame any more
	keepBytes   atomic.Bool
	admitted    bool // it was put in the queue; the reader's field
	between     bool // another node asks

	// Guarded by conn.mu.
	state  state
	reply  api.Body
	later  api.Deferred
	reason string // of a hangup
	// Of a long poll that was laid aside (unordered.go): asleep until something has come for it, over when its time is up.
	asleep, over bool
	until        time.Time

	// stalled tells that something stood in the way of the handler; waited is the time from the arrival until nothing did.
	stalled bool
	waited  time.Duration
	// answered is when the outcome came; takenUp when the writer began to make the reply, or to poll for it, 0 before that;
	// sending when the reply was there. They count from received, which takes a third of the room of times.
	answered, takenUp, sending time.Duration
}

// state is how far the answer of a request is. It leaves working once; the writer looks at it when the request is the
// first in the queue, since replies go out in the order of the requests.
type state uint8

const (
	working state = iota
	ready
	deferred
	silent // no reply is wanted
	hangup
)

// Ready is part of api.Slot.
func (p *pending) Ready(b api.Body) { p.conn.complete(p, func() { p.state, p.reply = ready, b }) }

// ReadyLater is part of api.Slot.
func (p *pending) ReadyLater(d api.Deferred) {
	p.conn.complete(p, func() { p.state, p.later = deferred, d })
}

// Nothing is part of api.Slot.
func (p *pending) Nothing() { p.conn.complete(p, func() { p.state = silent }) }

// Hangup is part of api.Slot.
func (p *pending) Hangup(reason string) {
	p.conn.complete(p, func() { p.state, p.reason = hangup, reason })
}

// KeepBytes is part of api.Slot.
func (p *pending) KeepBytes() { p.keepBytes.Store(true) }

// takeUp notes that the writer came to the request. Several replies that are made in a row share a moment, which may be
// before one of them was answered.
func (p *pending) takeUp(now time.Time) {
	p.sending = max(now.Sub(p.received), p.answered, 1)
	if p.takenUp == 0 {
		p.takenUp = p.sending
	}
}

// served tells how long the stages of an answered request were.
func (p *pending) served(s *api.Served, now time.Time) {
	*s = api.Served{Handler: p.handler, Version: p.version, Between: p.between, Reply: p.reply, Total: now.Sub(p.received)}
	if p.takenUp == 0 { // nothing was to be sent
		p.takenUp, p.sending = p.answered, p.answered
	}
	work := api.Local
	if p.handler.Waits {
		work = api.Remote
	}
	s.Stages[api.Queue] = p.waited
	s.Stages[work] = p.answered - p.waited
	if shared, is := p.reply.(api.Shared); is {
		remote := min(shared.WaitedForOthers(), s.Stages[work])
		s.Stages[work] -= remote
		s.Stages[api.Remote] = remote
	}
	s.Stages[api.ReplyQueue] = p.takenUp - p.answered
	s.Stages[api.Remote] += p.sending - p.takenUp
	s.Stages[api.Send] = s.Total - p.sending
}

// orderKeys gives the request's ordering keys, sorted.
func (p *pending) orderKeys(n *api.Node) []uint64 {
	if p.keys == nil {
		p.keys = p.handler.Order.Keys(n, make([]uint64, 0, 4), p.request.Body)
		slices.Sort(p.keys)
	}
	return p.keys
}

// conflicts tells whether p has to wait for an earlier request that is not answered yet.
func (p *pending) conflicts(earlier *pending, n *api.Node) bool {
	if p.handler.Order.Keys == nil || earlier.handler.Order.Keys == nil {
		return true
	}
	if p.handler == earlier.handler && p.handler.Order.Pipelined {
		return false
	}
	// Both are sorted: two fetches of 100,000 partitions must not cost the product.
	mine, theirs := p.orderKeys(n), earlier.orderKeys(n)
	for len(mine) > 0 && len(theirs) > 0 {
		switch {
		case mine[0] == theirs[0]:
			return true
		case mine[0] < theirs[0]:
			mine = mine[1:]
		default:
			theirs = theirs[1:]
		}
	}
	return false
}
