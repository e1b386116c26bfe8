package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/codec/kerr"
)

// joinConsumer works on JoinGroup for a consumer group with members. There is no leader, and nobody waits: the reply says
// where the member stands, and the protocol it names is the member's own first one, since nobody will use it.
//
// Errors: 23 INCONSISTENT_GROUP_PROTOCOL, 25 UNKNOWN_MEMBER_ID, 79 MEMBER_ID_REQUIRED, 81 GROUP_MAX_SIZE_REACHED, 82
// FENCED_INSTANCE_ID.
func (m *Machine) joinConsumer(w *waiter, c coordinator.Client, g *consumer, r *kmsg.JoinGroupRequest) {
	id := r.MemberID
	if id == "" {
		id = m.newID()
	}
	p, replaces, code := m.classicJoin(g, id, c, r)
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
	if replaces != nil && replaces.classic == nil && m.mayDowngrade(g, nil) {
		// It waits for the classic generation like the others; its id is known there.
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
	resp.MemberID, resp.Generation, resp.ProtocolType, resp.Protocol = id, now.memberEpoch, &kind, &p.classic.protocols[0].Name
	m.reply(w, resp)
}

// classicJoin judges a join. A member id that is not known is taken, as in Kafka: ids that were given out are not kept
// here. What comes of it is the member, and the static member whose place it takes.
func (m *Machine) classicJoin(g *consumer, id string, c coordinator.Client, r *kmsg.JoinGroupRequest) (p, replaces *subscriber, code kerr.Code) {
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
	p.classic = &classicMember{protocols: r.Protocols}
	p.classic.session, p.rebalance = timeouts(r)
	if r.InstanceID != nil {
		p.instance = r.InstanceID
	}
	if !p.read(r.Protocols[0].Metadata) {
		return nil, nil, kerr.InconsistentGroupProtocol
	}
	return p, replaces, kerr.None
}

// supports tells whether one of the protocols is common to all members of the classic protocol: should the group go back,
// they must be able to elect one.
func (g *consumer) supports(protocols []kmsg.JoinGroupRequestProtocol) bool {
	counts, members := map[string]int{}, 0
	for _, id := range g.memberIDs() {
		if p, _ := g.members.Get(id); p.classic != nil {
			members++
			for _, each := range p.classic.protocols {
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
				o[topicPartition{found.ID, n}] = true
			}
		}
	}
	return o
}
