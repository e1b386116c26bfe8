package group

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator/timeline"
	"troupe/codec/kerr"
)

// The types of members that ConsumerGroupDescribe tells apart since version 1 (KIP-1099).
const (
	describedClassic  int8 = 0
	describedConsumer int8 = 1
)

// consumerDescribe works on ConsumerGroupDescribe (key 69), versions 0-1, from committed state.
//
// Error of a group: 69 GROUP_ID_NOT_FOUND, for groups of the classic protocol too.
func (m *Machine) consumerDescribe(w *waiter, r *kmsg.ConsumerGroupDescribeRequest) {
	resp := response[*kmsg.ConsumerGroupDescribeResponse](r)
	for _, id := range r.Groups {
		out := kmsg.NewConsumerGroupDescribeResponseGroup()
		out.Group = id
		known, there := m.groups.Committed(id)
		if g, is := known.(*consumer); is {
			m.describeConsumer(g, &out)
			if r.IncludeAuthorizedOperations {
				out.AuthorizedOperations = operations
			}
		} else {
			why := fmt.Sprintf("Group %s not found.", id)
			if there {
				why = fmt.Sprintf("Group %s is not a consumer group.", id)
			}
			out.ErrorCode, out.ErrorMessage = int16(kerr.GroupIDNotFound), &why
		}
		resp.Groups = append(resp.Groups, out)
	}
	m.replyNow(w, resp)
}

// describeConsumer reads committed state alone, so that nothing is told that the log may yet refuse. The group's state is
// derived, as Kafka does: there is no record of it.
func (m *Machine) describeConsumer(g *consumer, out *kmsg.ConsumerGroupDescribeResponseGroup) {
	h := g.epochs.Committed()
	out.State, out.Epoch, out.AssignmentEpoch = g.status(), h.groupEpoch, h.assignmentEpoch
	votes := map[string]int{}
	for _, id := range timeline.SortedCommittedKeys(g.members) {
		p, _ := g.members.Committed(id)
		s, there := g.currents.Committed(id)
		if !there {
			s = &currentAssignment{}
		}
		target, _ := g.targets.Committed(id)
		one := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		one.MemberID, one.InstanceID, one.RackID, one.MemberEpoch = id, p.instance, p.rack, s.memberEpoch
		one.ClientID, one.ClientHost, one.SubscribedTopics, one.SubscribedTopicRegex = p.client.ID, p.client.Host, p.topics, &p.pattern
		both := append(append([]assignedPartition(nil), s.assigned...), s.revoking...) // it still answers for what it must let go
		slices.SortFunc(both, compareAssigned)
		one.Assignment, one.TargetAssignment = m.describeAssignment(byTopic(both)), m.describeAssignment(target)
		one.MemberType = describedConsumer
		if p.classic != nil {
			one.MemberType = describedClassic
		}
		votes[p.assignor]++ // "" is nobody's name
		out.Members = append(out.Members, one)
	}
	out.AssignorName = m.elected(votes)
}

// describeAssignment leaves out topics that are gone: they have no name.
func (m *Machine) describeAssignment(t assignment) (a kmsg.Assignment) {
	for _, topic := range m.topics.ordered(t) {
		out := kmsg.NewAssignmentTopicPartition()
		out.TopicID, out.Topic, out.Partitions = topic.ID, topic.Name, t[topic.ID]
		a.TopicPartitions = append(a.TopicPartitions, out)
	}
	return a
}
