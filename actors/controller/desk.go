package controller

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/cluster/controller"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// desk keeps the requests that were not answered yet. Each is in one of its places, and leaves it by its answer or for
// another one. It outlives a term: what was sent to another node is under way there, whatever this one's files are.
type desk struct {
	last controller.Token
	// decided wait for the machine's reply, sent for that of another node.
	decided, sent map[controller.Token]*Request
	// parked wait for a leader, in the order in which they came.
	parked []*Request
	// ready have their answer, and wait for this broker to apply what it tells of.
	ready []readyReply
	// grants wait for a majority to confirm that this node leads, in the order in which they were asked for.
	grants []grant
	// news tells that parked requests may have somebody to go to; retrying that they are looked at soon anyway.
	news, retrying bool
}

// readyReply is an answer of the leader's node, given when this broker has applied the metadata that it was given under.
type readyReply struct {
	request  *Request
	response kmsg.Response
	after    model.Offset
	until    time.Time
}

// answer gives it. A leader that cannot know yet what the controller went by asks again: the metadata may tell it first.
func (r *readyReply) answer(applied bool) {
	if _, isr := r.request.Body.(*kmsg.AlterPartitionRequest); isr && !applied {
		r.request.Fail(kerr.NotController)
		return
	}
	r.request.Reply(r.response)
}

func newDesk() desk {
	return desk{decided: map[controller.Token]*Request{}, sent: map[controller.Token]*Request{}}
}

// enter gives a request the next token.
func (d *desk) enter(place map[controller.Token]*Request, r *Request) controller.Token {
	d.last++
	place[d.last] = r
	return d.last
}

// take gives the request of a token once; nil when it was answered meanwhile.
func take(place map[controller.Token]*Request, t controller.Token) *Request {
	r := place[t]
	delete(place, t)
	return r
}

// parkedMax bounds what waits for a leader, as credits bound what clients may have under way.
const parkedMax = 10_000

// park keeps a request until somebody leads. Error: false when too many wait.
func (d *desk) park(r *Request) bool {
	if len(d.parked) >= parkedMax {
		return false
	}
	d.parked = append(d.parked, r)
	return true
}

// unpark gives what is parked, all of it.
func (d *desk) unpark() []*Request {
	all := d.parked
	d.parked, d.news = nil, false
	return all
}

// sweep refuses what has waited too long, and stops waiting for this broker to apply what a leader has told of.
func (d *desk) sweep(now time.Time) {
	rest := d.parked[:0]
	for _, r := range d.parked {
		if now.Before(r.deadline) {
			rest = append(rest, r)
		} else {
			r.Fail(nil)
		}
	}
	clear(d.parked[len(rest):])
	d.parked = rest
	d.applied(model.NoOffset, now)
}

// applied gives the answers that waited for an offset, and those that have waited long enough.
func (d *desk) applied(upTo model.Offset, now time.Time) {
	if len(d.ready) == 0 {
		return
	}
	rest := d.ready[:0]
	for _, r := range d.ready {
		if applied := r.after <= upTo; applied || !now.Before(r.until) {
			r.answer(applied)
		} else {
			rest = append(rest, r)
		}
	}
	clear(d.ready[len(rest):])
	d.ready = rest
}

// turn answers what waits for the term that ends: with what there is, or that they have to try again. The next one goes on
// with the others.
func (d *desk) turn(err error) {
	fail(d.decided, err)
	for _, g := range d.grants {
		g.request.Fail(err)
	}
	d.grants = nil
	for _, r := range d.ready {
		r.answer(false)
	}
	d.ready, d.news = nil, true
}

// close answers everybody.
func (d *desk) close(err error) {
	d.turn(err)
	fail(d.sent, err)
	for _, r := range d.unpark() {
		r.Fail(err)
	}
}

// fail sends all of a place to try again, in the order in which they came.
func fail(place map[controller.Token]*Request, err error) {
	for _, t := range slices.Sorted(maps.Keys(place)) {
		place[t].Fail(err)
	}
	clear(place)
}

// retryDue looks at the parked requests again.
type retryDue struct{}

func (*retryDue) MessageKind() string { return "controller.retry-due" }

// retryAfter is the pause before a request that found nobody is sent again.
const retryAfter = 50 * time.Millisecond

// retryLater is for requests that were refused by a leader who seems to be there.
func (a *Actor) retryLater(ctx *kit.Context) {
	if !a.desk.retrying && len(a.desk.parked) > 0 {
		a.desk.retrying = true
		ctx.After(retryAfter, &retryDue{})
	}
}

func (a *Actor) retry(ctx *kit.Context) {
	a.desk.retrying = false
	a.desk.sweep(ctx.Now())
	a.desk.news = true
}
