package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group/record"
	"troupe/internal/model"
)

// What a consumer group is stands in records of these kinds, and in nothing else. One path serves both directions: a
// decision makes a record and replays it, loading replays it alone.
//
//	kind              name       what                          made when
//	KindGroup                    epoch, hash of the topics     the epoch rises
//	KindMember        member     what it says of itself        that changes
//	KindTarget                   epoch of the targets          targets were made, after the last of them
//	KindMemberTarget  member     its target                    it is another one than before
//	KindCurrent       member     its current assignment        it moves
//	KindExpression    pattern    the topics it has             they were looked up

// store gives out a record of a consumer group and replays it.
func (m *Machine) store(group, name string, v record.Value) {
	m.append(record.StoreConsumer(group, name, v))
	m.replayConsumer(record.ConsumerKey{Kind: v.Kind(), Group: group, Name: name}, v)
}

// discard does the same with a tombstone.
func (m *Machine) discard(kind record.Kind, group, name string) {
	k := record.ConsumerKey{Kind: kind, Group: group, Name: name}
	m.append(record.DeleteConsumer(k))
	m.replayConsumer(k, nil)
}

// replayConsumer is the only way by which a consumer group changes. v is nil for a tombstone. The topics that Kafka 4.0
// recorded (record.ConsumerTopics) are passed over: the image of the metadata has them.
func (m *Machine) replayConsumer(k record.ConsumerKey, v record.Value) {
	switch v := v.(type) {
	case *record.ConsumerGroup:
		m.replayEpoch(k.Group, v.Epoch, v.MetadataHash)
	case *record.ConsumerMember:
		m.replayMember(k.Group, k.Name, subscriberOf(k.Name, v))
	case *record.ConsumerTarget:
		m.replayTargetEpoch(k.Group, v.Epoch, v.TimestampMs)
	case *record.ConsumerMemberTarget:
		m.replayTarget(k.Group, k.Name, assignmentOf(v.Topics), true)
	case *record.ConsumerCurrent:
		m.replayCurrent(k.Group, k.Name, currentOf(v))
	case *record.ConsumerExpression:
		m.replayPattern(k.Group, k.Name, &resolved{topics: sorted(v.Topics), version: v.Version, atMs: v.TimestampMs})
	case nil:
		m.replayTombstone(k)
	}
}

// replayTombstone takes away what a record said. KindTopics, which Kafka 4.0 wrote, says nothing that is kept.
func (m *Machine) replayTombstone(k record.ConsumerKey) {
	switch k.Kind {
	case record.KindGroup:
		m.replayDeletion(k.Group, consumerKind)
	case record.KindMember:
		m.replayMember(k.Group, k.Name, nil)
	case record.KindTarget:
		m.replayTargetEpoch(k.Group, 0, 0)
	case record.KindMemberTarget:
		m.replayTarget(k.Group, k.Name, nil, false)
	case record.KindCurrent:
		m.replayCurrent(k.Group, k.Name, nil)
	case record.KindExpression:
		m.replayPattern(k.Group, k.Name, nil)
	}
}

// recordMember writes the pattern "" for none, as Kafka does, which reads null as not known.
func (m *Machine) recordMember(group string, p *subscriber) {
	v := &record.ConsumerMember{
		Instance: p.instance, Rack: p.rack, ClientID: p.client.ID, ClientHost: p.client.Host, Topics: p.topics,
		Expression: &p.pattern, RebalanceTimeoutMs: int32(p.rebalance.Milliseconds()),
	}
	if p.assignor != "" {
		v.Assignor = &p.assignor
	}
	if l := p.classic; l != nil {
		v.Classic = &record.ClassicMember{SessionTimeoutMs: int32(l.session.Milliseconds())}
		for _, each := range l.protocols {
			v.Classic.Protocols = append(v.Classic.Protocols, record.ClassicProtocol{Name: each.Name, Metadata: each.Metadata})
		}
	}
	m.store(group, p.id, v)
}

func subscriberOf(id string, v *record.ConsumerMember) *subscriber {
	p := &subscriber{
		id: id, instance: v.Instance, rack: v.Rack, client: coordinator.Client{ID: v.ClientID, Host: v.ClientHost},
		topics: sorted(v.Topics), rebalance: millis(v.RebalanceTimeoutMs),
	}
	if v.Expression != nil {
		p.pattern = *v.Expression
	}
	if v.Assignor != nil {
		p.assignor = *v.Assignor
	}
	if c := v.Classic; c != nil {
		p.classic = &classicMember{session: millis(c.SessionTimeoutMs)}
		for _, each := range c.Protocols {
			p.classic.protocols = append(p.classic.protocols, kmsg.JoinGroupRequestProtocol{Name: each.Name, Metadata: each.Metadata})
		}
	}
	return p
}

func (m *Machine) recordEpoch(group string, epoch int32, hash int64) {
	m.store(group, "", &record.ConsumerGroup{Epoch: epoch, MetadataHash: hash})
}

func (m *Machine) recordTargetEpoch(group string, epoch int32, atMs int64) {
	m.store(group, "", &record.ConsumerTarget{Epoch: epoch, TimestampMs: atMs})
}

func (m *Machine) recordTarget(group, id string, t assignment) {
	v := &record.ConsumerMemberTarget{}
	for _, topic := range slices.SortedFunc(maps.Keys(t), model.TopicID.Compare) {
		if len(t[topic]) > 0 {
			v.Topics = append(v.Topics, record.TopicPartitions{Topic: topic, Partitions: t[topic]})
		}
	}
	m.store(group, id, v)
}

// assignmentOf reads a target as sameAssignments compares it.
func assignmentOf(topics []record.TopicPartitions) assignment {
	t := make(assignment, len(topics))
	for _, each := range topics {
		t[each.Topic] = slices.Sorted(slices.Values(each.Partitions)) // Kafka writes them in any order
	}
	return t
}

func (m *Machine) recordCurrent(group, id string, s *currentAssignment) {
	m.store(group, id, &record.ConsumerCurrent{
		Epoch: s.memberEpoch, PreviousEpoch: s.previousEpoch, State: int8(s.state), Assigned: topicsOf(s.assigned), Revoking: topicsOf(s.revoking),
	})
}

// topicsOf groups a sorted list by topic.
func topicsOf(list []assignedPartition) (topics []record.TopicPartitions) {
	for _, h := range list {
		if n := len(topics); n == 0 || topics[n-1].Topic != h.topic {
			topics = append(topics, record.TopicPartitions{Topic: h.topic})
		}
		t := &topics[len(topics)-1]
		t.Partitions, t.Epochs = append(t.Partitions, h.number), append(t.Epochs, h.epoch)
	}
	return topics
}

func currentOf(v *record.ConsumerCurrent) *currentAssignment {
	return &currentAssignment{
		memberEpoch: v.Epoch, previousEpoch: v.PreviousEpoch, state: memberState(v.State),
		assigned: assignedOf(v.Assigned, v.Epoch), revoking: assignedOf(v.Revoking, v.Epoch),
	}
}

// assignedOf takes the member's epoch for that of a partition where the record has none: software before Kafka 4.3 wrote it.
func assignedOf(topics []record.TopicPartitions, epoch int32) (list []assignedPartition) {
	for _, t := range topics {
		for i, n := range t.Partitions {
			h := assignedPartition{topicPartition{t.Topic, n}, epoch}
			if i < len(t.Epochs) {
				h.epoch = t.Epochs[i]
			}
			list = append(list, h)
		}
	}
	slices.SortFunc(list, compareAssigned)
	return list
}

// removeMember gives out the tombstones of all that a member has, the member itself last: whoever reads the log between
// them finds a member without partitions, and not partitions without a member.
func (m *Machine) removeMember(group, id string) {
	m.discard(record.KindCurrent, group, id)
	m.discard(record.KindMemberTarget, group, id)
	m.discard(record.KindMember, group, id)
}

// eraseConsumer gives out the tombstones of a group: when that of its epoch is replayed it is gone.
func (m *Machine) eraseConsumer(g *consumer) {
	ids := g.memberIDs()
	for _, kind := range []record.Kind{record.KindCurrent, record.KindMemberTarget} {
		for _, id := range ids {
			m.discard(kind, g.id, id)
		}
	}
	m.discard(record.KindTarget, g.id, "")
	for _, id := range ids {
		m.discard(record.KindMember, g.id, id)
	}
	for _, pattern := range g.patternNames() {
		m.discard(record.KindExpression, g.id, pattern)
	}
	m.discard(record.KindGroup, g.id, "")
}
