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
	from     *classic
	epoch    int32
	members  []*subscriber
	currents map[string]*currentAssignment
}

// upgradeOf makes the conversion of a group with members, or tells why it cannot be, in Kafka's words: who migrates a group
// and fails looks for them.
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
	c := &conversion{from: g, epoch: max(g.generation, 1), currents: map[string]*currentAssignment{}}
	chosen := g.chosen
	if chosen == "" {
		chosen = g.elect() // a group in its first join phase has none
	}
	for _, p := range g.members {
		s, err := m.settledIn(c.epoch, p.assigned)
		if err != "" {
			return nil, cannot(err)
		}
		sub := &subscriber{id: p.id, instance: p.instance, client: p.client, rebalance: p.rebalance, classic: &classicMember{p.session, p.protocols}}
		if !sub.read(p.metadata(chosen)) {
			return nil, cannot("the embedded consumer protocol is malformed")
		}
		c.members = append(c.members, sub)
		c.currents[p.id] = s
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

// settledIn reads an assignment of the classic protocol; the reason when it cannot be. User data is what an assignor of the
// clients' own needs, and would be lost. Topics that are gone are left out: nobody can hold them.
func (m *Machine) settledIn(generation int32, assignment []byte) (*currentAssignment, string) {
	s := &currentAssignment{memberEpoch: generation, previousEpoch: generation}
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
				s.assigned = append(s.assigned, assignedPartition{topicPartition{found.ID, n}, generation})
			}
		}
	}
	slices.SortFunc(s.assigned, compareAssigned)
	s.assigned = slices.Compact(s.assigned)
	return s, ""
}

// giveUp lets a classic group go that makes way for one of the consumer protocol; it comes back if the log refuses that
// (comeBack). Where it had no members epochs begin anew: nobody remembers a generation.
func (m *Machine) giveUp(g *classic) {
	m.unsettled = append(m.unsettled, unsettled{offset: m.next, group: g, left: true})
	m.cancelPhases(g)
	m.erase(g)
}

// upgrade converts a group. Who waits for its next generation is told to join again, which leads to this group.
func (m *Machine) upgrade(c *conversion) {
	g := c.from
	for _, p := range g.members {
		m.release(p, kerr.RebalanceInProgress)
	}
	m.giveUp(g)
	for _, p := range c.members {
		m.recordMember(g.id, p)
	}
	now := m.mustConsumer(g.id)
	m.recordEpoch(g.id, c.epoch, m.topicsHash(now))
	for _, p := range c.members {
		m.recordTarget(g.id, p.id, byTopic(c.currents[p.id].assigned))
	}
	m.recordTargetEpoch(g.id, c.epoch, 0)
	for _, p := range c.members {
		m.recordCurrent(g.id, p.id, c.currents[p.id])
		m.extendConsumer(now, p)
	}
}

func byTopic(list []assignedPartition) assignment {
	t := assignment{}
	for _, h := range list {
		t[h.topic] = append(t[h.topic], h.number)
	}
	return t
}
