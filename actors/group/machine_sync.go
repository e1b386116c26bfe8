package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// sync works on SyncGroup (key 14), versions 0-5.
//
// Errors: 22 ILLEGAL_GENERATION, 23 INCONSISTENT_GROUP_PROTOCOL, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 82
// FENCED_INSTANCE_ID.
func (m *Machine) sync(w *waiter, r *kmsg.SyncGroupRequest) {
	if g, is := m.consumerGroup(r.Group); is {
		m.syncConsumer(w, g, r)
		return
	}
	g, there := m.classicGroup(r.Group)
	if !there {
		m.refuse(w, kerr.UnknownMemberID)
		return
	}
	p, code := g.validate(r.MemberID, r.InstanceID)
	switch {
	case code != kerr.None:
	case r.Generation != g.generation:
		code = kerr.IllegalGeneration
	case r.ProtocolType != nil && *r.ProtocolType != g.protocolType, r.Protocol != nil && *r.Protocol != g.chosen:
		code = kerr.InconsistentGroupProtocol
	case g.state == empty:
		code = kerr.UnknownMemberID
	case g.state == preparing:
		code = kerr.RebalanceInProgress
	}
	if code != kerr.None {
		m.refuse(w, code)
		return
	}
	m.synced(g, p)
	if g.state == stable {
		m.reply(w, g.syncReply(r, p))
		return
	}
	if p.syncing != nil {
		m.refuse(p.syncing, kerr.RebalanceInProgress) // its client gave that request up
	}
	p.syncing = w
	if g.leader == p.id {
		m.assign(g, r)
	}
}

// synced notes that a member has asked; when all have, nobody is waited for.
func (m *Machine) synced(g *classic, p *member) {
	delete(g.unsynced, p.id)
	if len(g.unsynced) == 0 {
		m.timers.Cancel(timer{kind: syncTimer, group: g.id})
	}
}

// assign records the leader's assignment. Members that it names but that are gone get nothing; those that it forgot get
// an empty one. It is handed out when the record is committed.
func (m *Machine) assign(g *classic, r *kmsg.SyncGroupRequest) {
	assigned := make(map[string][]byte, len(g.members))
	for _, a := range r.GroupAssignment {
		if g.byID[a.MemberID] != nil {
			assigned[a.MemberID] = a.MemberAssignment
		}
	}
	o := m.record(g, func(p *member) []byte { return assigned[p.id] })
	m.unsettled = append(m.unsettled, unsettled{offset: o, group: g, generation: g.generation, assigned: assigned})
}

// settle moves on what waited for records that are committed now. The group may have moved on meanwhile: an assignment
// that is recorded for a generation that is over is given to nobody.
func (m *Machine) settle(next model.Offset) {
	for len(m.unsettled) > 0 && m.unsettled[0].offset < next {
		u := m.unsettled[0]
		m.unsettled = m.unsettled[1:]
		if u.generation > 0 && u.group.state == completing && u.group.generation == u.generation {
			m.handOut(u.group, u.assigned)
		}
	}
}

// handOut ends the sync phase. Members that come later get their part at once (sync in Stable).
func (m *Machine) handOut(g *classic, assigned map[string][]byte) {
	m.move(g, stable)
	m.options.Count(ClassicRebalanced, 1)
	for _, p := range g.members {
		p.assigned = assigned[p.id]
		if w := p.syncing; w != nil {
			p.syncing = nil
			m.replyNow(w, g.syncReply(w.request, p))
			m.extend(g, p)
		}
	}
}

// syncReply has the member's assignment. Who leads a group may assign nothing to somebody, which is an empty one, never
// null: clients do not take null.
func (g *classic) syncReply(r kmsg.Request, p *member) *kmsg.SyncGroupResponse {
	resp := response[*kmsg.SyncGroupResponse](r)
	protocol, kind := g.chosen, g.protocolType
	resp.Protocol, resp.ProtocolType, resp.MemberAssignment = &protocol, &kind, p.assigned
	if resp.MemberAssignment == nil {
		resp.MemberAssignment = []byte{}
	}
	return resp
}
