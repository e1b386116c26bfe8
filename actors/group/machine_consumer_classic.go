package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Members of the classic protocol in a consumer group (KIP-848, online migration). Their requests are translated:
//
//	JoinGroup   is a heartbeat that brings the subscription and what is owned; the generation is the member's epoch
//	SyncGroup   fetches what that led to
//	Heartbeat   says 27 when the member should join again: for a newer target, to have let go, to get what became free
//	LeaveGroup  takes out members of either protocol

// classicMemberOf finds the member that a request of the classic protocol is of. Its epoch is what the request calls generation.
func (g *consumer) classicMemberOf(id string, instance *string, generation int32) (*subscriber, kerr.Code) {
	p, there := g.members.Get(id)
	if instance != nil {
		if err := checkInstance(g.static(*instance), id, *instance); err != nil {
			return nil, err.Code
		}
	}
	switch {
	case !there || p.classic == nil:
		return nil, kerr.UnknownMemberID
	case g.current(id).memberEpoch != generation:
		return nil, kerr.IllegalGeneration
	}
	return p, kerr.None
}

// syncConsumer works on SyncGroup. What was decided with the join is fetched, unless there is a newer target by now: then
// the member joins once more. One that still has to let go gets what it keeps, lets the rest go, and joins by itself.
//
// Errors: 22 ILLEGAL_GENERATION, 23 INCONSISTENT_GROUP_PROTOCOL, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 82
// FENCED_INSTANCE_ID.
func (m *Machine) syncConsumer(w *waiter, g *consumer, r *kmsg.SyncGroupRequest) {
	p, code := g.classicMemberOf(r.MemberID, r.InstanceID, r.Generation)
	if code != kerr.None {
		m.refuse(w, code)
		return
	}
	name, kind := p.classic.protocols[0].Name, consumerType
	s := g.current(p.id)
	switch {
	case r.ProtocolType != nil && *r.ProtocolType != kind, r.Protocol != nil && *r.Protocol != name:
		m.refuse(w, kerr.InconsistentGroupProtocol)
		return
	case g.epochs.Get().assignmentEpoch > s.memberEpoch && s.state != unrevoked:
		m.awaitRejoin(g, p)
		m.refuse(w, kerr.RebalanceInProgress)
		return
	}
	m.timers.Cancel(timer{resyncTimer, g.id, p.id})
	m.extendConsumer(g, p)
	resp := response[*kmsg.SyncGroupResponse](r)
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = &kind, &name, m.encodeAssignment(p, byTopic(s.assigned))
	m.reply(w, resp)
}

// awaitRejoin gives a member its rebalance timeout to join again.
func (m *Machine) awaitRejoin(g *consumer, p *subscriber) {
	if t := (timer{rejoinTimer, g.id, p.id}); !m.timers.Pending(t) {
		m.timers.Set(t, m.now.Add(p.rebalance))
	}
}

// cancelClassic lets a member off what it was given its rebalance timeout for.
func (m *Machine) cancelClassic(g *consumer, id string) {
	m.timers.Cancel(timer{rejoinTimer, g.id, id})
	m.timers.Cancel(timer{resyncTimer, g.id, id})
}

// classicOver ends a member that did not join again, or sync, in its rebalance timeout. One that has changed its protocol
// since then owes neither.
func (m *Machine) classicOver(g *consumer, id string) {
	if p, there := g.members.Get(id); there && p.classic != nil {
		m.fence(g, p)
	}
}

// heartbeatConsumer works on Heartbeat. Nothing changes by it but the session: the classic protocol has no room for an
// assignment in its answer, so that members come for it.
//
// Errors: 22 ILLEGAL_GENERATION, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 82 FENCED_INSTANCE_ID.
func (m *Machine) heartbeatConsumer(w *waiter, g *consumer, r *kmsg.HeartbeatRequest) {
	p, code := g.classicMemberOf(r.MemberID, r.InstanceID, r.Generation)
	if code == kerr.None {
		m.extendConsumer(g, p)
		s := g.current(p.id)
		if s.memberEpoch < g.epochs.Get().assignmentEpoch || s.state == unrevoked || s.state == unreleased && !g.waits(p.id, s) {
			m.awaitRejoin(g, p)
			code = kerr.RebalanceInProgress
		}
	}
	m.refuse(w, code)
}

// waits tells whether others still hold something of a member's target.
func (g *consumer) waits(id string, s *currentAssignment) bool {
	target, _ := g.targets.Get(id)
	// any order: whether there is one does not depend on which is found first.
	for topic, numbers := range target {
		for _, n := range numbers {
			at := topicPartition{topic, n}
			_, mine := lookUp(s.assigned, at)
			if _, taken := g.owners.Get(at); taken && !mine {
				return true
			}
		}
	}
	return false
}

// leaveConsumer works on LeaveGroup, which takes out members of either protocol: administrators remove static members by
// it. All go at once, so that the others get one new target.
//
// Errors a member: 25 UNKNOWN_MEMBER_ID, 82 FENCED_INSTANCE_ID.
func (m *Machine) leaveConsumer(w *waiter, g *consumer, r *kmsg.LeaveGroupRequest, members []kmsg.LeaveGroupRequestMember) {
	resp := response[*kmsg.LeaveGroupResponse](r)
	var gone []*subscriber
	for i := range members {
		asked := &members[i]
		out := kmsg.NewLeaveGroupResponseMember()
		out.MemberID, out.InstanceID = asked.MemberID, asked.InstanceID
		p, _ := g.members.Get(asked.MemberID)
		if asked.InstanceID != nil {
			p = g.static(*asked.InstanceID)
		}
		switch {
		case p == nil:
			out.ErrorCode = int16(kerr.UnknownMemberID)
		case asked.MemberID != "" && p.id != asked.MemberID:
			out.ErrorCode = int16(kerr.FencedInstanceID)
		default:
			gone = append(gone, p)
		}
		resp.Members = append(resp.Members, out)
	}
	if r.Version < 3 {
		resp.ErrorCode = resp.Members[0].ErrorCode
	}
	m.fence(g, distinctMembers(gone)...)
	m.reply(w, resp)
}

// distinctMembers leaves out who is named again: a tombstone more would count as a member more.
func distinctMembers(list []*subscriber) (out []*subscriber) {
	seen := map[*subscriber]bool{}
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
