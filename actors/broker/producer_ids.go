package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// producerIDs hands out producer ids from blocks that the controller recorded before it gave them (KIP-730): what was
// left of a block when the process ended is never given to anybody.
type producerIDs struct {
	lifecycle  *lifecycleState
	controller kit.Ref

	next, end model.ProducerID // of the block; the end is exclusive
	asking    bool
	waiting   []*nextProducerID
}

// nextProducerID asks for one id. done is called once, on whichever goroutine has the answer.
type nextProducerID struct {
	done func(model.ProducerID, kerr.Code)
}

// producerIDBlock is the controller's answer, on this actor's own goroutine.
type producerIDBlock struct {
	resp *kmsg.AllocateProducerIDsResponse
}

func (*nextProducerID) MessageKind() string  { return "producer-ids.next" }
func (*producerIDBlock) MessageKind() string { return "producer-ids.block" }

// Fail sends the client to try again.
func (m *nextProducerID) Fail(error) { m.done(model.NoProducerID, kerr.CoordinatorLoadInProgress) }

func (p *producerIDs) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *nextProducerID:
		if p.next < p.end {
			m.done(p.next, kerr.None)
			p.next++
			return
		}
		p.waiting = append(p.waiting, m)
		p.ask(ctx)
	case *producerIDBlock:
		p.block(m.resp)
	}
}

// Crashed sends those who wait to try again.
func (p *producerIDs) Crashed(err error) {
	for _, m := range p.waiting {
		m.Fail(err)
	}
}

// ask asks for a block, one at a time: what comes meanwhile waits for it, or the controller would record a block a client.
func (p *producerIDs) ask(ctx *kit.Context) {
	if p.asking {
		return
	}
	p.asking = true
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = int32(p.lifecycle.id), int64(p.lifecycle.epoch())
	self := ctx.Self()
	ctx.Send(p.controller, &controller.Request{Body: req, Done: func(resp kmsg.Response) {
		self.Send(&producerIDBlock{resp.(*kmsg.AllocateProducerIDsResponse)})
	}})
}

// block serves those who wait, in order. More of them than the block has ids are sent to try again.
func (p *producerIDs) block(resp *kmsg.AllocateProducerIDsResponse) {
	p.asking = false
	if resp.ErrorCode == 0 {
		p.next, p.end = model.ProducerID(resp.ProducerIDStart), model.ProducerID(resp.ProducerIDStart)+model.ProducerID(resp.ProducerIDLen)
	}
	waiting := p.waiting
	p.waiting = nil
	for _, m := range waiting {
		if p.next == p.end {
			m.Fail(kerr.CoordinatorLoadInProgress)
			continue
		}
		m.done(p.next, kerr.None)
		p.next++
	}
}

// idSource gives handlers the actor's service.
type idSource struct{ ref kit.Ref }

// Next is part of api.ProducerIDs.
func (s idSource) Next(done func(model.ProducerID, kerr.Code)) {
	s.ref.Send(&nextProducerID{done})
}
