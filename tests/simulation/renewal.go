package simulation

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// renewal deletes a topic, makes it again under its name, and has its clients begin anew. Nothing of the earlier topic may be
// in the new one, whoever was away meanwhile.
type renewal struct {
	*client
	load    *load
	shape   topicShape
	old     [16]byte
	gone    map[[16]byte]bool // the ids of all earlier ones
	made    bool              // it was made, and nobody has deleted it since
	running bool
	round   int
}

// renewTopicFault begins one, unless one is under way.
func (w *World) renewTopicFault(*host) bool {
	r := w.load.renewal
	if r.running || !r.made {
		return false
	}
	r.running, r.made = true, false
	r.round++
	w.note("renew", "%s, for the %d. time", r.shape.name, r.round)
	for i := range w.load.producers {
		if p, c := w.load.producers[i], w.load.consumers[i]; p.topic == r.shape.name {
			p.drop()
			c.stopped = true
		}
	}
	r.old = r.ids[r.shape.name]
	if r.gone == nil {
		r.gone = map[[16]byte]bool{}
	}
	r.gone[r.old] = true
	r.delete()
	return true
}

func (r *renewal) later(f func()) {
	r.world.after(r.world.between(50*time.Millisecond, 300*time.Millisecond), f)
}

// delete goes by the topic's id: by name a request that comes late would delete the new one.
func (r *renewal) delete() {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 6, 5000
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.TopicID = r.old
	req.Topics = append(req.Topics, topic)
	r.call(r.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err != nil {
			r.later(r.delete)
			return
		}
		switch code := kerr.Code(resp.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode); code {
		case kerr.None, kerr.UnknownTopicID:
			r.later(r.create)
		default:
			r.expect(code)
			r.later(r.delete)
		}
	})
}

func (r *renewal) create() { r.load.createBy(r.client, r.shape, r.find) }

// find waits until this client knows the new topic: a broker that was cut off may tell of one from before the last.
func (r *renewal) find() {
	r.refresh(func() {
		if id := r.ids[r.shape.name]; r.gone[id] || id == [16]byte{} {
			r.later(r.find)
			return
		}
		r.made = true
		if r.running {
			r.resume()
		} else {
			r.load.begin(r.shape)
		}
	})
}

// resume has the clients begin with an empty ledger.
func (r *renewal) resume() {
	r.running = false
	w := r.world
	w.cover.meet(renewedTopic)
	for i, p := range w.load.producers {
		if p.topic != r.shape.name {
			continue
		}
		c := w.load.consumers[i]
		p.stopped = true
		book := newLedger(w, p.ledger.name)
		book.prefix = fmt.Sprintf("%s.%d-", p.name, r.round)
		w.load.ledgers[book.name] = book
		w.load.producers[i] = r.load.produce(r.shape, p.partition, book)
		w.load.consumers[i] = r.load.consume(r.shape, c.partition, book)
		w.load.consumers[i].gone = r.gone
	}
}
