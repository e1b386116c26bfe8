package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
)

// Members of the classic protocol in a consumer group (KIP-848, online migration). Their requests are translated:
//
//	JoinGroup   is a heartbeat that brings the subscription and what is owned; the generation is the member's epoch
//	SyncGroup   fetches what that led to
//	Heartbeat   says 27 when the member should join again: for a newer target, to have let go, to get what became free
//	LeaveGroup  takes out members of either protocol

// joinConsumer works on JoinGroup for a consumer group with members. There is no leader, and nobody waits.
func (m *Machine) joinConsumer(w *waiter, c coordinator.Client, g *consumer, r *kmsg.JoinGroupRequest) {
	id := r.MemberID
	if id == "" {
		id = m.newID()
	}
	p, replaces, code := m.legacyMember(g, id, c, r)
	switch {
	case code != kerr.None:
		m.refuse(w, code)
		return
	case r.MemberID == "" && r.InstanceID == nil && r.Version >= 4:
		resp := joinFailure(r, kerr.MemberIDRequired)
		resp.MemberID = id
		m.reply(w, resp)
		return
	}
	old, _ := g.members.Get(id)
	if replaces != nil {
		renamed := *replaces
		renamed.id = id
		(&entry{group: g.id, replaces: replaces, known: &renamed}).take(m, id)
		old = &renamed
	}
	changed := m.change(g.id, old, p, false)
	if replaces != nil && replaces.legacy == nil && m.mayDowngrade(g, nil) {
		again := *r
		again.MemberID = id
		m.joinKnown(w, c, m.downgrade(g, nil), &again)
		return
	}
	now := m.reconcile(g, p, m.ownedBefore(r.Protocols[0].Metadata), changed)
	m.timers.Cancel(timer{rejoinTimer, g.id, id})
	m.timers.Set(timer{resyncTimer, g.id, id}, m.now.Add(p.rebalance))
	m.extendConsumer(g, p)
	resp := response[*kmsg.JoinGroupResponse](r)
	kind := consumerType
	resp.MemberID, resp.Generation, resp.ProtocolType, resp.Protocol = id, now.epoch, &kind, &p.legacy.protocols[0].Name
	m.reply(w, resp)
}

// legacyMember is the member that a join leads to, and the static member whose place it takes.
func (m *Machine) legacyMember(g *consumer, id string, c coordinator.Client, r *kmsg.JoinGroupRequest) (p, replaces *subscriber, code kerr.Code) {
	known, there := g.members.Get(id)
	o := m.options.Consumer
	switch {
	case !o.Upgrade && !o.Downgrade:
		return nil, nil, kerr.InconsistentGroupProtocol
	case !there && g.members.Len() >= o.MembersMax:
		return nil, nil, kerr.GroupMaxSizeReached
	case r.ProtocolType != consumerType || !g.supports(r.Protocols):
		return nil, nil, kerr.InconsistentGroupProtocol
	}
	if r.InstanceID != nil {
		holder := g.static(*r.InstanceID)
		switch {
		case r.MemberID != "":
			if err := checkInstance(holder, id, *r.InstanceID); err != nil {
				return nil, nil, err.Code
			}
		case holder != nil:
			known, replaces = holder, holder
		}
	}
	p = &subscriber{}
	if known != nil {
		*p = *known
	}
	p.id, p.client = id, c
	p.legacy = &legacy{protocols: r.Protocols}
	p.legacy.session, p.rebalance = timeouts(r)
	if r.InstanceID != nil {
		p.instance = r.InstanceID
	}
	if !p.read(r.Protocols[0].Metadata) {
		return nil, nil, kerr.InconsistentGroupProtocol
	}
	return p, replaces, kerr.None
}

// supports tells whether one of the protocols is common to all members of the classic protocol.
func (g *consumer) supports(protocols []kmsg.JoinGroupRequestProtocol) bool {
	counts, members := map[string]int{}, 0
	for _, id := range g.memberIDs() {
		if p, _ := g.members.Get(id); p.legacy != nil {
			members++
			for _, each := range p.legacy.protocols {
				counts[each.Name]++
			}
		}
	}
	for _, each := range protocols {
		if counts[each.Name] == members {
			return true
		}
	}
	return false
}

// ownedBefore is what a subscription of the classic protocol says its member has.
func (m *Machine) ownedBefore(metadata []byte) owned {
	o := owned{}
	var s kmsg.ConsumerMemberMetadata
	if s.ReadFrom(metadata) != nil {
		return o
	}
	for _, t := range s.OwnedPartitions {
		if found, there := m.topics.image.Topic(t.Topic); there {
			for _, n := range t.Partitions {
				o[place{found.ID, n}] = true
			}
		}
	}
	return o
}

// legacyOf finds the member that a request of the classic protocol is of.
func (g *consumer) legacyOf(id string, instance *string, generation int32) (*subscriber, kerr.Code) {
	p, there := g.members.Get(id)
	if instance != nil {
		if err := checkInstance(g.static(*instance), id, *instance); err != nil {
			return nil, err.Code
		}
	}
	switch {
	case !there || p.legacy == nil:
		return nil, kerr.UnknownMemberID
	case g.standing(id).epoch != generation:
		return nil, kerr.IllegalGeneration
	}
	return p, kerr.None
}

// syncConsumer works on SyncGroup.
func (m *Machine) syncConsumer(w *waiter, g *consumer, r *kmsg.SyncGroupRequest) {
	p, code := g.legacyOf(r.MemberID, r.InstanceID, r.Generation)
	if code != kerr.None {
		m.refuse(w, code)
		return
	}
	name, kind := p.legacy.protocols[0].Name, consumerType
	s := g.standing(p.id)
	switch {
	case r.ProtocolType != nil && *r.ProtocolType != kind, r.Protocol != nil && *r.Protocol != name:
		m.refuse(w, kerr.InconsistentGroupProtocol)
		return
	case g.head.Get().targetEpoch > s.epoch && s.state != unrevoked:
		m.awaitRejoin(g, p)
		m.refuse(w, kerr.RebalanceInProgress)
		return
	}
	m.timers.Cancel(timer{resyncTimer, g.id, p.id})
	m.extendConsumer(g, p)
	resp := response[*kmsg.SyncGroupResponse](r)
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = &kind, &name, m.encodeAssignment(p, planHeld(s.assigned))
	m.reply(w, resp)
}

// awaitRejoin gives a member its rebalance timeout to join again.
func (m *Machine) awaitRejoin(g *consumer, p *subscriber) {
	if t := (timer{rejoinTimer, g.id, p.id}); !m.timers.Pending(t) {
		m.timers.Set(t, m.now.Add(p.rebalance))
	}
}

// cancelLegacy lets a member off what it was given its rebalance timeout for.
func (m *Machine) cancelLegacy(g *consumer, id string) {
	m.timers.Cancel(timer{rejoinTimer, g.id, id})
	m.timers.Cancel(timer{resyncTimer, g.id, id})
}

// legacyOver ends a member that did not join again, or sync, in its rebalance timeout. One that has changed its protocol
// since then owes neither.
func (m *Machine) legacyOver(g *consumer, id string) {
	if p, there := g.members.Get(id); there && p.legacy != nil {
		m.fence(g, p)
	}
}

// heartbeatConsumer works on Heartbeat.
func (m *Machine) heartbeatConsumer(w *waiter, g *consumer, r *kmsg.HeartbeatRequest) {
	p, code := g.legacyOf(r.MemberID, r.InstanceID, r.Generation)
	if code == kerr.None {
		m.extendConsumer(g, p)
		s := g.standing(p.id)
		if s.epoch < g.head.Get().targetEpoch || s.state == unrevoked || s.state == unreleased && !g.waits(p.id, s) {
			m.awaitRejoin(g, p)
			code = kerr.RebalanceInProgress
		}
	}
	m.refuse(w, code)
}

// waits tells whether others still hold something of a member's target.
func (g *consumer) waits(id string, s *standing) bool {
	target, _ := g.targets.Get(id)
	// any order: whether there is one does not depend on which is found first.
	for topic, numbers := range target {
		for _, n := range numbers {
			at := place{topic, n}
			_, mine := lookUp(s.assigned, at)
			if _, taken := g.owners.Get(at); taken && !mine {
				return true
			}
		}
	}
	return false
}

// leaveConsumer works on LeaveGroup, which takes out members of either protocol.
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
