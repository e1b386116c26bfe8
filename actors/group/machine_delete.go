package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group/record"
	"troupe/codec/kerr"
)

// deleteOffsets works on OffsetDelete (key 47), version 0.
//
// Errors at the top: 68 NON_EMPTY_GROUP for members that are no consumers, 69 GROUP_ID_NOT_FOUND; of a partition: 86
// GROUP_SUBSCRIBED_TO_TOPIC. What was never committed is deleted without an error.
func (m *Machine) deleteOffsets(w *waiter, r *kmsg.OffsetDeleteRequest) {
	g, there := m.groups.Get(r.Group)
	switch {
	case !there:
		m.refuse(w, kerr.GroupIDNotFound)
		return
	case g.state != empty && g.protocolType != consumerType:
		m.refuse(w, kerr.NonEmptyGroup)
		return
	}
	resp := response[*kmsg.OffsetDeleteResponse](r)
	for _, asked := range r.Topics {
		t := kmsg.NewOffsetDeleteResponseTopic()
		t.Topic = asked.Topic
		for _, each := range asked.Partitions {
			p := kmsg.NewOffsetDeleteResponseTopicPartition()
			p.Partition = each.Partition
			key := partition{asked.Topic, each.Partition}
			if g.subscribes(asked.Topic) {
				p.ErrorCode = int16(kerr.GroupSubscribedToTopic)
			} else if _, committed := g.offsets.Get(key); committed {
				m.deleteOffset(g, key)
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	m.reply(w, resp)
}

// subscribes tells whether a member may be reading a topic: its offsets are not deleted under it (KIP-496). A subscription that cannot be read may be to any.
func (g *group) subscribes(topic string) bool {
	if g.state == empty || g.protocolType != consumerType {
		return false
	}
	return g.topics == nil || g.topics[topic]
}

// deleteGroups works on DeleteGroups (key 42), versions 0-2.
//
// Errors of a group: 68 NON_EMPTY_GROUP, 69 GROUP_ID_NOT_FOUND.
func (m *Machine) deleteGroups(w *waiter, r *kmsg.DeleteGroupsRequest) {
	resp := response[*kmsg.DeleteGroupsResponse](r)
	for _, id := range r.Groups {
		out := kmsg.NewDeleteGroupsResponseGroup()
		out.Group = id
		g, there := m.groups.Get(id)
		switch {
		case !there:
			out.ErrorCode = int16(kerr.GroupIDNotFound)
		case g.state != empty:
			out.ErrorCode = int16(kerr.NonEmptyGroup)
		default:
			m.deleteGroup(g)
		}
		resp.Groups = append(resp.Groups, out)
	}
	m.reply(w, resp)
}

// deleteGroup gives out tombstones of all that a group committed, then of the group.
func (m *Machine) deleteGroup(g *group) {
	for _, key := range g.offsets.Keys(comparePartitions) {
		m.deleteOffset(g, key)
	}
	m.append(record.DeleteGroup(g.id))
	m.groups.Delete(g.id)
	m.pending.forget(g.id)
}

// expireOffsets lets go what nobody has used for offsets.retention.minutes (KIP-211), and groups that have nothing left.
func (m *Machine) expireOffsets() {
	m.timers.Set(timer{kind: retentionTimer}, m.now.Add(m.options.RetentionCheck))
	for _, id := range m.groupIDs() {
		g, _ := m.groups.Get(id)
		m.deleteOffsetsOf(g, func(key partition, c *committed) bool { return m.expired(g, key, c) && !m.pending.holds(id, key) })
		if g.state == empty && g.offsets.Len() == 0 && len(g.given) == 0 && !m.pending.of(id) {
			m.deleteGroup(g)
		}
	}
}

// TopicsDeleted lets go what was committed for topics that are gone: under the same name another one may come.
func (m *Machine) TopicsDeleted(at coordinator.At, names []string) coordinator.Effects {
	m.begin(at)
	for _, id := range m.groupIDs() {
		g, _ := m.groups.Get(id)
		m.deleteOffsetsOf(g, func(key partition, _ *committed) bool { return slices.Contains(names, key.topic) })
	}
	return m.end()
}

// deleteOffsetsOf lets go the offsets that a condition holds for, in an order that does not depend on the map's.
func (m *Machine) deleteOffsetsOf(g *group, which func(partition, *committed) bool) {
	for _, key := range g.offsets.KeysOf(which, comparePartitions) {
		m.deleteOffset(g, key)
	}
}

// expired tells whether an offset's time is up: counted from when the group became empty, or from the commit where the
// topic is not subscribed to, or the group has no members by its nature.
func (m *Machine) expired(g *group, key partition, c *committed) bool {
	from := c.atMs
	switch {
	case g.protocolType == "":
	case g.state == empty && g.since.IsZero():
	case g.state == empty:
		from = g.since.UnixMilli()
	case g.state == stable && g.protocolType == consumerType && g.topics != nil && !g.topics[key.topic]:
	default:
		return false
	}
	if c.expireMs >= 0 {
		return m.now.UnixMilli() >= c.expireMs
	}
	return m.now.UnixMilli()-from >= m.options.Retention.Milliseconds()
}
