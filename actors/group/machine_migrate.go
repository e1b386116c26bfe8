package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Groups change their protocol while they live (KIP-848): the first member of the consumer protocol takes a classic group
// of consumers with it, and the members of the classic protocol live on in it. When the last one has gone they get their
// classic group back. Each way the old group's tombstones and the new group's records are one batch.

// conversion is a classic group as one of the consumer protocol. All members have settled in the classic generation, or in
// the first epoch where there was none.
type conversion struct {
	from      *classic
	epoch     int32
	members   []*subscriber
	standings map[string]*standing
}

// upgradeOf makes the conversion of a group with members, or tells why it cannot be.
func (m *Machine) upgradeOf(g *classic) (*conversion, *kerr.Error) {
	cannot := func(why string) *kerr.Error {
		return &kerr.Error{Code: kerr.GroupIDNotFound, Detail: fmt.Sprintf("Cannot upgrade classic group %s to consumer group because %s.", g.id, why)}
	}
	switch {
	case !m.options.Consumer.Upgrade:
		return nil, cannot("online upgrade is disabled")
	case g.protocolType != consumerType:
		return nil, cannot("the group does not use the consumer embedded protocol")
	case len(g.members) > m.options.Consumer.MembersMax:
		return nil, cannot("the group size exceeds the consumer group maximum size")
	}
	c := &conversion{from: g, epoch: max(g.generation, 1), standings: map[string]*standing{}}
	chosen := g.chosen
	if chosen == "" {
		chosen = g.elect() // a group in its first join phase has none
	}
	for _, p := range g.members {
		s, err := m.settledIn(c.epoch, p.assigned)
		if err != "" {
			return nil, cannot(err)
		}
		sub := &subscriber{id: p.id, instance: p.instance, client: p.client, rebalance: p.rebalance, legacy: &legacy{p.session, p.protocols}}
		if !sub.read(p.metadata(chosen)) {
			return nil, cannot("the embedded consumer protocol is malformed")
		}
		c.members = append(c.members, sub)
		c.standings[p.id] = s
	}
	slices.SortFunc(c.members, func(a, b *subscriber) int { return strings.Compare(a.id, b.id) })
	return c, nil
}

// read takes a subscription as members of the classic protocol encode it.
func (p *subscriber) read(metadata []byte) bool {
	var s kmsg.ConsumerMemberMetadata
	if s.ReadFrom(metadata) != nil {
		return false
	}
	p.topics, p.rack, p.pattern = sorted(s.Topics), nil, ""
	if s.Rack != nil && *s.Rack != "" {
		p.rack = s.Rack
	}
	return true
}

// settledIn reads an assignment of the classic protocol; the reason when it cannot be.
func (m *Machine) settledIn(generation int32, assignment []byte) (*standing, string) {
	s := &standing{epoch: generation, previous: generation}
	if len(assignment) == 0 {
		return s, "" // it has just come
	}
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(assignment) != nil {
		return nil, "the embedded consumer protocol is malformed"
	}
	if len(a.UserData) > 0 {
		return nil, "an unsupported custom assignor is in use"
	}
	for _, t := range a.Topics {
		found, there := m.topics.image.Topic(t.Topic)
		for _, n := range t.Partitions {
			if there {
				s.assigned = append(s.assigned, held{place{found.ID, n}, generation})
			}
		}
	}
	slices.SortFunc(s.assigned, compareHeld)
	s.assigned = slices.Compact(s.assigned)
	return s, ""
}

// convertEmpty lets a classic group without members go.
func (m *Machine) convertEmpty(g *classic) {
	m.unsettled = append(m.unsettled, unsettled{offset: m.next, group: g, left: true})
	m.cancelPhases(g)
	m.erase(g)
}

// upgrade converts a group. Who waits for its next generation is told to join again, which leads to this group.
func (m *Machine) upgrade(c *conversion) {
	g := c.from
	for _, p := range g.members {
		for _, w := range []*waiter{p.joining, p.syncing} {
			if w != nil {
				m.refuse(w, kerr.RebalanceInProgress)
			}
		}
		p.joining, p.syncing = nil, nil
	}
	m.unsettled = append(m.unsettled, unsettled{offset: m.next, group: g, left: true})
	m.cancelPhases(g)
	m.erase(g)
	for _, p := range c.members {
		m.recordMember(g.id, p)
	}
	now := m.mustConsumer(g.id)
	m.recordEpoch(g.id, c.epoch, m.topicsHash(now))
	for _, p := range c.members {
		m.recordTarget(g.id, p.id, planHeld(c.standings[p.id].assigned))
	}
	m.recordTargetEpoch(g.id, c.epoch, 0)
	for _, p := range c.members {
		m.recordStanding(g.id, p.id, c.standings[p.id])
		m.extendConsumer(now, p)
	}
}

func planHeld(list []held) plan {
	t := plan{}
	for _, h := range list {
		t[h.topic] = append(t[h.topic], h.number)
	}
	return t
}

// mayDowngrade tells whether, with some members gone, the others are all of the classic protocol and can have their group
// back.
func (m *Machine) mayDowngrade(g *consumer, gone []*subscriber) bool {
	old := 0
	for _, p := range gone {
		if p.legacy != nil {
			old++
		}
	}
	left := g.members.Len() - len(gone)
	return left > 0 && g.legacyCount()-old == left && m.options.Consumer.Downgrade && left <= m.options.MembersMax
}

// downgrade makes a classic group of those that stay, and has them rebalance. Its assignment is what they have, not what
// they were to get, as in Kafka: until they have joined again the group may become one of the consumer protocol once
// more, and must not take for free what a member still has.
func (m *Machine) downgrade(g *consumer, gone []*subscriber) *classic {
	c := m.newClassic(g.core)
	c.generation, c.protocolType = g.head.Get().epoch, consumerType
	for _, id := range g.memberIDs() {
		p, _ := g.members.Get(id)
		m.cancelLegacy(g, id) // should the group be one of this protocol again
		if slices.Contains(gone, p) {
			continue
		}
		s := g.standing(id)
		has := append(slices.Clone(s.assigned), s.revoking...)
		slices.SortFunc(has, compareHeld)
		c.add(&member{
			id: id, instance: p.instance, client: p.client, session: p.legacy.session, rebalance: p.rebalance,
			protocols: p.legacy.protocols, assigned: m.encodeAssignment(p, planHeld(has)),
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
func (m *Machine) encodeAssignment(p *subscriber, t plan) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	if first := p.legacy.protocols[0].Metadata; len(first) >= 2 {
		a.Version = int16(first[0])<<8 | int16(first[1])
	}
	for _, each := range m.topics.ordered(t) {
		topic := kmsg.NewConsumerMemberAssignmentTopic()
		topic.Topic, topic.Partitions = each.Name, t[each.ID]
		a.Topics = append(a.Topics, topic)
	}
	return a.AppendTo(nil)
}
