package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The way back to the classic protocol is taken when the last member of the consumer protocol leaves, falls silent, or
// comes back as a static member of the other one: a rolling upgrade can be undone, member by member.

// mayDowngrade tells whether, with some members gone, the others are all of the classic protocol and can have their group
// back.
func (m *Machine) mayDowngrade(g *consumer, gone []*subscriber) bool {
	old := 0
	for _, p := range gone {
		if p.classic != nil {
			old++
		}
	}
	left := g.members.Len() - len(gone)
	// An empty group keeps its protocol until somebody joins: that decides.
	return left > 0 && g.classicCount()-old == left && m.options.Consumer.Downgrade && left <= m.options.MembersMax
}

// downgrade makes a classic group of those that stay, and has them rebalance. Its assignment is what they have, not what
// they were to get, as in Kafka: until they have joined again the group may become one of the consumer protocol once
// more, and must not take for free what a member still has.
func (m *Machine) downgrade(g *consumer, gone []*subscriber) *classic {
	c := m.newClassic(g.core)
	c.generation, c.protocolType = g.epochs.Get().groupEpoch, consumerType
	for _, id := range g.memberIDs() {
		p, _ := g.members.Get(id)
		m.cancelClassic(g, id) // should the group be one of this protocol again
		if slices.Contains(gone, p) {
			continue
		}
		s := g.current(id)
		has := append(slices.Clone(s.assigned), s.revoking...)
		slices.SortFunc(has, compareAssigned)
		c.add(&member{
			id: id, instance: p.instance, client: p.client, session: p.classic.session, rebalance: p.rebalance,
			protocols: p.classic.protocols, assigned: m.encodeAssignment(p, byTopic(has)),
		}, consumerType)
	}
	c.chosen = c.elect()
	c.topics = c.subscriptions()
	m.move(c, stable)
	c.due = true
	m.unsettled = append(m.unsettled, unsettled{offset: m.next, group: c, created: true})
	m.eraseConsumer(g)
	m.recordState(c)
	for _, p := range c.members {
		m.extend(c, p)
	}
	m.prepare(c)
	return c
}

// encodeAssignment writes partitions as members of the classic protocol read them, in the version of their subscription.
func (m *Machine) encodeAssignment(p *subscriber, t assignment) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	if first := p.classic.protocols[0].Metadata; len(first) >= 2 {
		a.Version = int16(first[0])<<8 | int16(first[1])
	}
	for _, each := range m.topics.ordered(t) {
		topic := kmsg.NewConsumerMemberAssignmentTopic()
		topic.Topic, topic.Partitions = each.Name, t[each.ID]
		a.Topics = append(a.Topics, topic)
	}
	return a.AppendTo(nil)
}
