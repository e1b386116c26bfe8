package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// fetchOffsets works on OffsetFetch (key 9), versions 1-10, from committed state. Topics stand in the request by name;
// who passes it on has resolved ids. Null topics ask for all.
//
// Errors of a group since version 9: 25 UNKNOWN_MEMBER_ID, 113 STALE_MEMBER_EPOCH (22 ILLEGAL_GENERATION for a member of
// the classic protocol in a consumer group).
// Errors of a partition: 88 UNSTABLE_OFFSET_COMMIT when a stable answer is asked for and a transaction that commits an
// offset is open. What was never committed is offset -1, epoch -1, "".
func (m *Machine) fetchOffsets(w *waiter, r *kmsg.OffsetFetchRequest) {
	resp := response[*kmsg.OffsetFetchResponse](r)
	if r.Version >= 8 {
		for i := range r.Groups {
			resp.Groups = append(resp.Groups, m.fetchGroup(&r.Groups[i], r.RequireStable))
		}
		m.replyNow(w, resp)
		return
	}
	asked := kmsg.NewOffsetFetchRequestGroup()
	asked.Group = r.Group
	if r.Topics != nil {
		asked.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, t := range r.Topics {
		one := kmsg.NewOffsetFetchRequestGroupTopic()
		one.Topic, one.Partitions = t.Topic, t.Partitions
		asked.Topics = append(asked.Topics, one)
	}
	for _, t := range m.fetchGroup(&asked, r.RequireStable).Topics {
		out := kmsg.NewOffsetFetchResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			one := kmsg.NewOffsetFetchResponseTopicPartition()
			one.Partition, one.Offset, one.LeaderEpoch = p.Partition, p.Offset, p.LeaderEpoch
			one.Metadata, one.ErrorCode = p.Metadata, p.ErrorCode
			out.Partitions = append(out.Partitions, one)
		}
		resp.Topics = append(resp.Topics, out)
	}
	m.replyNow(w, resp)
}

// fetchGroup answers for one group. One that is not there has committed nothing, which is no error.
func (m *Machine) fetchGroup(r *kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group = r.Group
	var g *core
	if known, there := m.groups.Committed(r.Group); there {
		g = known.base()
		if c, is := known.(*consumer); is {
			if code := c.mayFetch(r.MemberID, r.MemberEpoch); code != kerr.None {
				out.ErrorCode = int16(code)
				return out
			}
		}
	}
	if r.Topics == nil {
		out.Topics = m.fetchAll(g, stable)
		return out
	}
	for _, asked := range r.Topics {
		t := kmsg.NewOffsetFetchResponseGroupTopic()
		t.Topic, t.TopicID = asked.Topic, asked.TopicID
		for _, number := range asked.Partitions {
			t.Partitions = append(t.Partitions, m.fetchOne(g, r.Group, partition{asked.Topic, number}, stable))
		}
		out.Topics = append(out.Topics, t)
	}
	return out
}

// fetchAll gives all that a group has committed, in order of topic and partition.
func (m *Machine) fetchAll(g *core, stable bool) (topics []kmsg.OffsetFetchResponseGroupTopic) {
	if g == nil {
		return nil
	}
	for _, key := range g.offsets.CommittedKeys(comparePartitions) {
		if n := len(topics); n == 0 || topics[n-1].Topic != key.topic {
			t := kmsg.NewOffsetFetchResponseGroupTopic()
			t.Topic = key.topic
			topics = append(topics, t)
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, m.fetchOne(g, g.id, key, stable))
	}
	return topics
}

// fetchOne answers for one partition; g is nil for a group that is not there.
func (m *Machine) fetchOne(g *core, id string, key partition, stable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	nothing := ""
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = key.number, -1, -1, &nothing
	if stable && m.pending.holds(id, key) {
		p.ErrorCode = int16(kerr.UnstableOffsetCommit)
		return p
	}
	if g == nil {
		return p
	}
	if c, there := g.offsets.Committed(key); there {
		p.Offset, p.LeaderEpoch, p.Metadata = c.offset, c.leaderEpoch, &c.metadata
	}
	return p
}
