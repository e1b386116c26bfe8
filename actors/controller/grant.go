package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/cluster/controller"
	"troupe/codec/kerr"
)

// grant is the answer to a heartbeat that lets its broker lead on for a session, and the question of quorum.Machine.Confirm
// that it waits for.
//
// A controller that was hung may have been replaced, and its broker fenced, before it hears of either; the heartbeat of the
// broker in its own process comes first then. Whoever leads after a majority has confirmed this node begins that broker's
// session later than the heartbeat was sent.
type grant struct {
	request  *Request
	response kmsg.Response
	question uint64
}

// grants tells whether a broker goes on leading by an answer.
func grants(resp kmsg.Response) bool {
	r, ok := resp.(*kmsg.BrokerHeartbeatResponse)
	return ok && r.ErrorCode == 0 && !r.IsFenced
}

// confirm holds a grant back until it is known that this node leads.
func (a *Actor) confirm(ctx *kit.Context, g grant) {
	if !a.machine.Leading() {
		a.revoke(ctx, g)
		return
	}
	g.question = a.raft.Confirm()
	a.desk.grants = append(a.desk.grants, g)
}

// grant gives the answers that were confirmed.
func (a *Actor) grant(ctx *kit.Context) {
	n := 0
	for ; n < len(a.desk.grants) && a.desk.grants[n].question <= a.raft.Confirmed(); n++ {
		a.settle(ctx, a.desk.grants[n].request, a.desk.grants[n].response)
	}
	clear(a.desk.grants[:n])
	a.desk.grants = a.desk.grants[n:]
}

// withdraw sends whoever waits for a grant of a leader that was to the next one.
func (a *Actor) withdraw(ctx *kit.Context) {
	waiting := a.desk.grants
	a.desk.grants = nil
	for _, g := range waiting {
		a.revoke(ctx, g)
	}
}

func (a *Actor) revoke(ctx *kit.Context, g grant) {
	a.settle(ctx, g.request, controller.Refuse(g.request.Body, kerr.NotController))
}
