package controller

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/controller"
	"troupe/cluster/quorum"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/internal/model"
)

// waitMax is how long a request waits for somebody who leads, through elections and lost leaders. It is longer than any
// election of a quorum that has its majority.
const waitMax = 5 * time.Second

// leaveMax is the same for a broker that stops: whoever cannot be told that it goes finds out.
const leaveMax = 2 * time.Second

// applyMax is how long an answer waits for this broker to apply what it tells of. A broker that is further behind than
// that has a client wait no longer: what it was told of is committed.
const applyMax = time.Second

// leading is who the controller's requests go to.
func (a *Actor) leading() quorum.Leadership {
	switch {
	case a.raft != nil:
		return a.raft.Leadership()
	case a.observer != nil && a.observer.leader != model.NoBroker:
		return quorum.Leadership{Leader: quorum.VoterKey{ID: a.observer.leader}, Epoch: a.observer.epoch}
	}
	return quorum.Leadership{Leader: quorum.NoVoter}
}

// request has a request decided here or sent to the leader's node, whichever leads. While that is not known it waits.
func (a *Actor) request(ctx *kit.Context, r *Request) {
	if r.deadline.IsZero() {
		wait := waitMax
		if leaves(r.Body) {
			wait = leaveMax
		}
		r.deadline = ctx.Now().Add(wait)
	}
	switch l := a.leading(); {
	case a.ended && a.full:
		r.Fail(kit.ErrStopped)
	case a.ended:
		a.park(ctx, r)
	case a.machine.Leading():
		a.decide(ctx, r)
	case l.Leader != quorum.NoVoter && !l.Self && !r.Local:
		a.forward(ctx, r, l.Leader.ID)
	case r.Local && !l.Self && a.log != nil:
		// Whoever sent it finds another leader: sent on from here, two nodes that are wrong about each other would never stop.
		r.Fail(kerr.NotController)
	default:
		a.park(ctx, r)
	}
}

// decide hands a request to the machine.
func (a *Actor) decide(ctx *kit.Context, r *Request) {
	if a.own(ctx, r) {
		return
	}
	a.effects(ctx, a.machine.Handle(a.at(ctx), a.desk.enter(a.desk.decided, r), r.Body))
}

// own answers what is the quorum's and not the machine's.
func (a *Actor) own(ctx *kit.Context, r *Request) bool {
	switch body := r.Body.(type) {
	case *kmsg.DescribeQuorumRequest:
		r.Reply(a.describe(ctx, body))
	case *kmsg.AddRaftVoterRequest:
		a.addVoter(ctx, r, body)
	case *kmsg.RemoveRaftVoterRequest:
		a.removeVoter(ctx, r, body)
	case *kmsg.UpdateRaftVoterRequest:
		a.updateVoter(r, body)
	case *kmsg.ControllerRegistrationRequest:
		if !a.duplicate(body) {
			return false
		}
		r.Reply(controller.Refuse(body, kerr.DuplicateBrokerRegistration))
	default:
		return false
	}
	return true
}

// at is when and where the machine decides: the time, the offset that its next record will have, and who is there.
func (a *Actor) at(ctx *kit.Context) controller.At {
	return controller.At{Time: ctx.Now(), Next: a.raft.End(), Quorum: a.inQuorum}
}

// effects proposes what the machine wants appended and gives the replies that need not wait for it.
func (a *Actor) effects(ctx *kit.Context, e controller.Effects) {
	if len(e.Append) > 0 {
		base, err := a.raft.Propose(e.Append, e.Level)
		if err != nil {
			a.deps.Log.Warn("metadata change not taken", "err", err)
			a.answer(ctx, a.machine.Refused())
		} else {
			// From here on the reply waits for the records to be committed and applied.
			a.machine.Appended(base)
			a.commits.proposed(base+model.Offset(len(e.Append))-1, ctx.Now())
		}
	}
	a.answer(ctx, e.Replies)
}

// answer gives each reply once: a request that was failed meanwhile is not there any more.
func (a *Actor) answer(ctx *kit.Context, replies []controller.Reply) {
	for _, r := range replies {
		switch req := take(a.desk.decided, r.Token); {
		case req == nil:
		case grants(r.Response):
			a.confirm(ctx, grant{request: req, response: r.Response})
		default:
			a.settle(ctx, req, r.Response)
		}
	}
}

// settle gives a reply, unless it is that whoever decided leads no more: then the next leader is asked, as the client would
// do by itself. What was asked may be done by then, which the second answer says, as Kafka's brokers have it too.
func (a *Actor) settle(ctx *kit.Context, r *Request, resp kmsg.Response) {
	if r.Local || !controller.Refused(resp, kerr.NotController) {
		r.Reply(resp)
		return
	}
	a.park(ctx, r)
	a.retryLater(ctx)
}

// leaves tells the heartbeat of a broker that stops.
func leaves(body kmsg.Request) bool {
	beat, ok := body.(*kmsg.BrokerHeartbeatRequest)
	return ok && beat.WantShutdown
}

// park keeps a request for the next leader, as long as it may wait, and that of a broker that stops if there can be one.
func (a *Actor) park(ctx *kit.Context, r *Request) {
	if !ctx.Now().Before(r.deadline) || leaves(r.Body) && a.bereft() || !a.desk.park(r) {
		r.Fail(kerr.NotController)
	}
}

// unpark sends the parked requests to whoever leads by now, and tells whether there were any.
func (a *Actor) unpark(ctx *kit.Context) bool {
	if !a.desk.news {
		return false
	}
	waiting := a.desk.unpark()
	for _, r := range waiting {
		a.request(ctx, r)
	}
	return len(waiting) > 0
}

// forwarded is the answer of the leader's node.
type forwarded struct {
	token controller.Token
	resp  kmsg.Response
	err   error
}

func (*forwarded) MessageKind() string { return "controller.forwarded" }

// forward asks the leader's node. The body goes as it is, in the version that the client speaks.
func (a *Actor) forward(ctx *kit.Context, r *Request, to model.BrokerID) {
	call := &private.ForwardRequest{RequestKey: r.Body.Key(), RequestVersion: r.Body.GetVersion(), Body: r.Body.AppendTo(nil)}
	self, m := ctx.Self(), &forwarded{token: a.desk.enter(a.desk.sent, r)}
	a.deps.Peers.SendCaused(ctx.Cause(), to, &peer.Call{
		Link: peer.Controller, Body: call, Deadline: ctx.Now().Add(a.deps.Config.Quorum.RequestTimeout),
		Done: func(resp kmsg.Response, err error) {
			m.resp, m.err = resp, err
			self.Send(m)
		},
	})
}

// returned gives the leader's answer, some when this broker has applied what they tell of.
func (a *Actor) returned(ctx *kit.Context, m *forwarded) {
	r := take(a.desk.sent, m.token)
	if r == nil {
		return
	}
	resp, at, err := unwrap(r.Body, m)
	switch {
	case err != nil:
		a.deps.Log.Debug("request not forwarded", "key", r.Body.Key(), "err", err)
		a.park(ctx, r)
		a.retryLater(ctx)
	case controller.Refused(resp, kerr.NotController):
		a.settle(ctx, r, resp)
	case at <= a.deps.Source.Image().Offset || !awaitsMetadata(r.Body):
		r.Reply(resp)
	default:
		a.desk.ready = append(a.desk.ready, readyReply{request: r, response: resp, after: at, until: ctx.Now().Add(applyMax)})
	}
}

// unwrap reads the answer that a forwarded one carries, and how far the leader's node had applied the metadata by then.
func unwrap(asked kmsg.Request, m *forwarded) (kmsg.Response, model.Offset, error) {
	if m.err != nil {
		return nil, model.NoOffset, m.err
	}
	carried, ok := m.resp.(*private.ForwardResponse)
	if !ok || carried.ErrorCode != 0 {
		return nil, model.NoOffset, kerr.NotController
	}
	resp := asked.ResponseKind()
	resp.SetVersion(asked.GetVersion())
	return resp, carried.Applied, resp.ReadFrom(carried.Body)
}

// awaitsMetadata tells the requests whose answers wait. A client finds what it was told of. A leader goes by the
// min.insync.replicas by which the controller chose who is eligible: by a smaller one it would commit alone, in the ISR that it is
// told of, what they do not have. Whoever else asks for a node's own sake goes by what he is told.
func awaitsMetadata(body kmsg.Request) bool {
	_, isr := body.(*kmsg.AlterPartitionRequest)
	return isr || !between(body)
}

// between tells the requests that nodes make on their own account.
func between(body kmsg.Request) bool {
	switch body.(type) {
	case *kmsg.AlterPartitionRequest, *kmsg.BrokerRegistrationRequest, *kmsg.BrokerHeartbeatRequest,
		*kmsg.AllocateProducerIDsRequest, *kmsg.ControllerRegistrationRequest, *kmsg.AssignReplicasToDirsRequest:
		return true
	}
	return false
}
