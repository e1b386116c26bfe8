package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group/record"
	"troupe/internal/model"
)

// A classic group stands in one record, which is written with each of its stable states.

// recordState gives out the record of a group as its members stand.
func (m *Machine) recordState(g *classic) model.Offset {
	return m.record(g, func(p *member) []byte { return p.assigned })
}

// record gives out a group's state with an assignment. The members are soft state, so that its replay only makes sure
// of the group.
func (m *Machine) record(g *classic, assigned func(*member) []byte) model.Offset {
	v := kmsg.NewGroupMetadataValue()
	v.ProtocolType, v.Generation, v.CurrentStateTimestamp = g.protocolType, g.generation, g.since.UnixMilli()
	if len(g.members) > 0 {
		v.Protocol = &g.chosen
		if !g.due {
			v.Leader = &g.leader
		}
	}
	for _, p := range g.members {
		out := kmsg.NewGroupMetadataValueMember()
		out.MemberID, out.InstanceID, out.ClientID, out.ClientHost = p.id, p.instance, p.client.ID, p.client.Host
		out.RebalanceTimeoutMillis, out.SessionTimeoutMillis = int32(p.rebalance.Milliseconds()), int32(p.session.Milliseconds())
		out.Subscription, out.Assignment = p.metadata(g.chosen), assigned(p)
		v.Members = append(v.Members, out)
	}
	o := m.append(record.StoreGroup(g.id, v))
	if known, _ := m.groups.Get(g.id); known != group(g) {
		m.groups.Set(g.id, g)
	}
	return o
}

// loadGroup makes a classic group as it was recorded: with members it was stable. Of each member's protocols the record has the
// chosen one alone; the others come back when it joins again.
func (m *Machine) loadGroup(id string, v *kmsg.GroupMetadataValue) {
	g := m.newClassic(m.coreOf(id))
	g.since = time.Time{}
	if v.CurrentStateTimestamp >= 0 { // version 1 and older have none
		g.since = time.UnixMilli(v.CurrentStateTimestamp)
	}
	g.protocolType, g.generation = v.ProtocolType, v.Generation
	if v.Protocol != nil {
		g.chosen = *v.Protocol
	}
	for i := range v.Members {
		r := &v.Members[i]
		p := &member{
			id: r.MemberID, instance: r.InstanceID, client: coordinator.Client{ID: r.ClientID, Host: r.ClientHost},
			session: millis(r.SessionTimeoutMillis), rebalance: millis(r.RebalanceTimeoutMillis), assigned: r.Assignment,
			protocols: []kmsg.JoinGroupRequestProtocol{{Name: g.chosen, Metadata: r.Subscription}},
		}
		if r.RebalanceTimeoutMillis < 0 { // version 0 has none
			p.rebalance = p.session
		}
		g.add(p, v.ProtocolType)
		g.state = stable
	}
	if v.Leader != nil {
		g.leader = *v.Leader
	}
	g.due = v.Leader == nil && len(g.members) > 0
	g.topics = g.subscriptions()
	m.groups.Set(id, g)
}
