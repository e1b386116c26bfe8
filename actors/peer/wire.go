package peer

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/codec/frame"
	"troupe/codec/private"
)

const (
	// flyingMax bounds the calls on the wire, below what the other node works on at once for one connection; more wait.
	flyingMax = 512
	// waitingMax bounds those that wait. Nobody makes so many; a node that is slow must not cost this one its memory.
	waitingMax = 8192
)

// wire is one link at work: the connection, and the calls on it. It belongs to its node's actor.
type wire struct {
	link    Link
	address Address // the likeliest
	at      Address // the one that is tried, or was
	metAt   Address // where the node was last met
	machine machine
	count   *counters
	// recycler takes frames back; nil where the transport does not.
	recycler Recycler

	conn  Conn
	ear   *ear // what conn tells; another one is of an earlier connection
	timer *kit.Timer

	last    int32 // correlation id
	flying  map[int32]*flight
	waiting []*flight
	heard   time.Time // when anything was last received
	sweep   *kit.Timer
	sweepAt time.Time
	probing bool // a probe is under way
}

// flight is a call under way.
type flight struct {
	call     *Call
	cause    trace.Context
	deadline time.Time
	sent     time.Time // zero while it waits
}

// helloID is the correlation id of the handshake; calls count from 1.
const helloID = 0

// take makes a call, or has it wait for the handshake or for others.
func (w *wire) take(ctx *kit.Context, f *flight) {
	w.count.calls.Add(1)
	switch {
	case w.address == Address{}:
		w.fail(f, ErrUnknown)
		return
	case w.machine.state == resting:
		w.fail(f, ErrDown)
		return
	case len(w.waiting) >= waitingMax:
		w.fail(f, ErrCrowded)
		return
	}
	w.watch(ctx, f.deadline)
	if w.machine.state == standing && len(w.flying) < flyingMax {
		w.send(ctx, f)
		return
	}
	w.waiting = append(w.waiting, f)
}

// send puts a call on the wire.
func (w *wire) send(ctx *kit.Context, f *flight) {
	if w.last++; w.last <= helloID {
		w.last = helloID + 1
	}
	f.sent = ctx.Now()
	w.flying[w.last] = f
	w.conn.Write(w.frame(f.call.Body, w.last, f.cause))
}

// frame encodes a request. The cause of a traced one goes along in the header.
func (w *wire) frame(body kmsg.Request, correlation int32, cause trace.Context) []byte {
	h := frame.RequestHeader{Key: body.Key(), Version: body.GetVersion(), CorrelationID: correlation}
	if cause.Traced() {
		h.Tags = frame.Tags{{Number: private.TraceTag, Value: cause.Append(nil)}}
	}
	b := body.AppendTo(frame.AppendRequestHeader(frame.Begin(make([]byte, 0, 256)), h))
	frame.End(b, 0, 0)
	w.count.sent.Add(uint64(len(b)))
	return b
}

// replied gives a reply to its call; the error says that the node does not keep to the protocol. The reply to a call that
// was given up meanwhile is dropped.
func (w *wire) replied(ctx *kit.Context, b []byte) error {
	id, err := frame.Correlation(b)
	if err != nil {
		return err
	}
	f := w.flying[id]
	if f == nil {
		return nil
	}
	delete(w.flying, id)
	resp, err := reply(f.call.Body, b)
	if err != nil {
		w.fail(f, err)
		return err
	}
	f.call.frame, f.call.to = b, w.recycler
	f.call.Turn = ctx.Turn()
	f.call.end(resp, nil)
	w.advance(ctx)
	return nil
}

// reply decodes the reply to a request; its byte slices lie in b.
func reply(req kmsg.Request, b []byte) (kmsg.Response, error) {
	_, _, body, err := frame.ParseResponseHeader(b, req.Key(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	return resp, resp.ReadFrom(body)
}

// advance sends calls that wait, as far as there is room on the wire.
func (w *wire) advance(ctx *kit.Context) {
	n := min(len(w.waiting), flyingMax-len(w.flying))
	if n <= 0 || w.machine.state != standing {
		return
	}
	for _, f := range w.waiting[:n] {
		w.send(ctx, f)
	}
	w.waiting = slices.Delete(w.waiting, 0, n)
}

// failAll ends all calls, in the order in which they were made.
func (w *wire) failAll(err error) {
	for _, id := range slices.Sorted(maps.Keys(w.flying)) {
		w.fail(w.flying[id], err)
	}
	clear(w.flying)
	waiting := w.waiting
	w.waiting = nil
	for _, f := range waiting {
		w.fail(f, err)
	}
}

func (w *wire) fail(f *flight, err error) {
	w.count.failures.Add(1)
	f.call.end(nil, err)
}

// watch has overdue looked for at a deadline. There is one timer, which is set anew only for an earlier deadline than its
// own: with most calls answered long before, it goes off once in the time of a deadline and not once a call.
func (w *wire) watch(ctx *kit.Context, deadline time.Time) {
	if w.sweep != nil && !deadline.Before(w.sweepAt) {
		return
	}
	if w.sweep != nil {
		w.sweep.Stop()
	}
	w.sweepAt = deadline
	w.sweep = ctx.After(max(deadline.Sub(ctx.Now()), 0), &sweepDue{w})
}

// overdue fails the calls whose deadline has come and gives the earliest sending among them, zero when none was sent.
func (w *wire) overdue(ctx *kit.Context) (sent time.Time) {
	now := ctx.Now()
	w.sweep = nil
	var late []*flight
	for _, id := range slices.Sorted(maps.Keys(w.flying)) {
		f := w.flying[id]
		if f.deadline.After(now) {
			w.watch(ctx, f.deadline)
			continue
		}
		if sent.IsZero() {
			sent = f.sent
		}
		delete(w.flying, id)
		late = append(late, f)
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(f *flight) bool {
		if f.deadline.After(now) {
			w.watch(ctx, f.deadline)
			return false
		}
		late = append(late, f)
		return true
	})
	for _, f := range late {
		w.fail(f, ErrTimeout)
	}
	w.advance(ctx)
	return sent
}
