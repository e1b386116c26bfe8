package fetcher

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
	"troupe/actors/peer"
	"troupe/actors/trace"
	"troupe/codec/private"
	"troupe/internal/model"
)

// wire carries the calls of one process to the others, as bytes.
type wire struct{ from *process }

// SendCaused is part of Peers.
func (x wire) SendCaused(cause trace.Context, id model.BrokerID, c *peer.Call) {
	w, from := x.from.world, x.from
	body := c.Body.AppendTo(nil)
	w.soon(func() {
		to := w.brokers[id].process
		if from.gone {
			return
		}
		if to == nil || w.cut[[2]model.BrokerID{from.id, id}] {
			c.Fail(peer.ErrDown)
			return
		}
		req := kmsg.RequestForKey(c.Body.Key())
		req.SetVersion(c.Body.GetVersion())
		if err := req.ReadFrom(body); err != nil {
			w.t.Errorf("a request that cannot be read: %v", err)
		}
		client := &api.Client{Connection: uint64(from.id), Listener: "PLAINTEXT", Peer: &private.Identity{NodeID: from.id}}
		h, _ := api.Lookup(req.Key(), client)
		r := &reply{from: from, to: to, call: c, request: req}
		to.node.Handle(api.NewRequest(api.Arrival{Handler: h, Version: req.GetVersion(), Body: req, Client: client, Received: w.clock.Now(), Cause: cause, Slot: r}))
	})
}

// reply is a request's place at the server.
type reply struct {
	from, to *process
	call     *peer.Call
	request  kmsg.Request
	later    api.Deferred
	over     bool
}

func (r *reply) Ready(b api.Body) { r.answer(b.AppendTo(nil)) }
func (r *reply) Nothing()         {}
func (r *reply) Hangup(string)    {}
func (r *reply) KeepBytes()       {}

// ReadyLater polls until there is a reply.
func (r *reply) ReadyLater(d api.Deferred) {
	r.later = d
	w := r.from.world
	w.clock.AfterFunc(max(d.Deadline().Sub(w.clock.Now()), time.Nanosecond), func() { w.soon(func() { r.poll(true) }) })
	w.soon(func() { r.poll(false) })
}

func (r *reply) poll(last bool) {
	w := r.from.world
	if r.over {
		return
	}
	if r.to.gone {
		r.over = true
		r.answer(nil)
		return
	}
	p, ok := r.later.Poll(nil, last, api.Wake(func() { w.soon(func() { r.poll(last) }) }))
	if !ok {
		return
	}
	r.over = true
	var out []byte
	from := 0
	for _, hole := range p.Holes {
		out = append(out, p.Bytes[from:hole.At]...)
		from = hole.At
		records := make([]byte, hole.Region.Len)
		if _, err := hole.Region.File.ReadAt(records, hole.Region.Pos); err != nil {
			w.t.Errorf("a region that cannot be read: %v", err)
		}
		out = append(out, records...)
	}
	out = append(out, p.Bytes[from:]...)
	p.Sent()
	r.answer(out)
}

func (r *reply) answer(b []byte) {
	w := r.from.world
	w.soon(func() {
		switch {
		case r.from.gone:
		case r.to.gone || w.cut[[2]model.BrokerID{r.from.id, r.to.id}]:
			r.call.Fail(peer.ErrDown)
		default:
			resp := r.request.ResponseKind()
			resp.SetVersion(r.request.GetVersion())
			if err := resp.ReadFrom(b); err != nil {
				w.t.Errorf("a reply that cannot be read: %v", err)
			}
			r.call.Done(resp, nil)
		}
	})
}
