package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group/record"
	"troupe/cluster/image"
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
	case !g.vacant() && g.protocol() != consumerType:
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
			} else if _, committed := g.base().offsets.Get(key); committed {
				m.deleteOffset(g.base(), key)
				m.options.Count(OffsetDeleted, 1)
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	m.reply(w, resp)
}

// subscribes is part of group. A subscription that cannot be read may be to any topic.
func (g *classic) subscribes(topic string) bool {
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
		case !g.vacant():
			out.ErrorCode = int16(kerr.NonEmptyGroup)
		default:
			m.deleteGroup(g)
		}
		resp.Groups = append(resp.Groups, out)
	}
	m.reply(w, resp)
}

// deleteGroup gives out tombstones of all that a group committed, then of the group.
func (m *Machine) deleteGroup(g group) {
	c := g.base()
	for _, key := range c.offsets.Keys(comparePartitions) {
		m.deleteOffset(c, key)
	}
	m.erase(g)
	m.pending.forget(c.id)
}

// erase gives out the tombstones of a group itself, and replays them.
func (m *Machine) erase(g group) {
	switch g := g.(type) {
	case *classic:
		m.append(record.DeleteGroup(g.id))
		m.replayDeletion(g.id, classicKind)
	case *consumer:
		m.eraseConsumer(g)
	}
}

// expireOffsets lets go what nobody has used for offsets.retention.minutes (KIP-211), and groups that have nothing left.
func (m *Machine) expireOffsets() {
	m.timers.Set(timer{kind: retentionTimer}, m.now.Add(m.options.RetentionCheck))
	for _, id := range m.groupIDs() {
		g, _ := m.groups.Get(id)
		gone := m.deleteOffsetsOf(g.base(), func(key partition, c *committed) bool { return m.expired(g, key, c) && !m.pending.holds(id, key) })
		m.options.Count(OffsetExpired, gone)
		if c, is := g.(*classic); is && len(c.given) > 0 {
			continue
		}
		if g.vacant() && g.base().offsets.Len() == 0 && !m.pending.of(id) {
			m.deleteGroup(g)
		}
	}
}

// Metadata lets go what was committed for topics that are gone: under the same name another one may come. Groups look at
// their topics with their members' next heartbeats.
func (m *Machine) Metadata(at coordinator.At, d image.Delta) coordinator.Effects {
	m.begin(at)
	m.topics.look(d)
	deleted := map[string]bool{}
	for _, t := range d.Topics {
		if t.After == nil {
			deleted[t.Before.Name] = true
		}
	}
	if len(deleted) > 0 {
		for _, id := range m.groupIDs() {
			m.deleteOffsetsOf(m.coreOf(id), func(key partition, _ *committed) bool { return deleted[key.topic] })
		}
	}
	return m.end()
}

// deleteOffsetsOf lets go the offsets that a condition holds for, in an order that does not depend on the map's, and tells
// how many they are.
func (m *Machine) deleteOffsetsOf(g *core, which func(partition, *committed) bool) int {
	keys := g.offsets.KeysOf(which, comparePartitions)
	for _, key := range keys {
		m.deleteOffset(g, key)
	}
	return len(keys)
}

// idle is part of group: since the group became empty, or since the commit where the topic is not subscribed to, or the
// group has no members by its nature.
func (g *classic) idle(key partition, c *committed) (int64, bool) {
	switch {
	case g.protocolType == "", g.state == empty && g.since.IsZero():
		return c.atMs, true
	case g.state == empty:
		return g.since.UnixMilli(), true
	case g.state == stable && g.protocolType == consumerType && g.topics != nil && !g.topics[key.topic]:
		return c.atMs, true
	}
	return 0, false
}

// expired tells whether an offset's time is up.
func (m *Machine) expired(g group, key partition, c *committed) bool {
	from, idle := g.idle(key, c)
	if !idle {
		return false
	}
	if c.expireMs >= 0 {
		return m.now.UnixMilli() >= c.expireMs
	}
	return m.now.UnixMilli()-from >= m.options.Retention.Milliseconds()
}
