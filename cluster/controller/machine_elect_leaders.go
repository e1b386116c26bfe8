package controller

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// electLeaders elects on demand (KIP-460): type 0 the preferred leaders, 1 any live replica where nobody leads.
// Asked for everything, partitions that need no election are left out.
//
// Versions 0 to 2: 0 knows the preferred election only.
//
// Errors of a partition:
//
//	3  there is no such topic or partition
//	42 the type is unknown, which fails the whole as well
//	80 the preferred leader is not alive or not in the ISR
//	83 no replica is alive
//	84 the preferred leader leads already; for type 1, anybody leads
func (m *Machine) electLeaders(r *kmsg.ElectLeadersRequest) outcome {
	resp := reply[*kmsg.ElectLeadersResponse](r)
	unclean := r.ElectionType == 1
	var unknown error
	if r.ElectionType != 0 && r.ElectionType != 1 {
		unknown = fail(kerr.InvalidRequest, fmt.Sprintf("Unknown election type %d", r.ElectionType))
		resp.ErrorCode = int16(kerr.InvalidRequest)
	}
	elected := map[model.TopicPartition]bool{}
	if r.Topics == nil && unknown == nil {
		return m.electEverywhere(unclean, resp)
	}
	var records []record.Record
	for _, t := range r.Topics {
		answer := kmsg.NewElectLeadersResponseTopic()
		answer.Topic = t.Topic
		for _, n := range t.Partitions {
			var change *record.PartitionChange
			err := unknown
			if err == nil && !elected[model.TopicPartition{Topic: t.Topic, Partition: n}] {
				change, err = m.electNamed(model.TopicPartition{Topic: t.Topic, Partition: n}, unclean)
				elected[model.TopicPartition{Topic: t.Topic, Partition: n}] = change != nil
			}
			answer.Partitions = append(answer.Partitions, electionResult(n, err))
			records = appendChange(records, change)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return outcome{records, resp}
}

// electEverywhere answers for all topics, with empty lists where all is well, as Kafka does.
func (m *Machine) electEverywhere(unclean bool, resp *kmsg.ElectLeadersResponse) outcome {
	var records []record.Record
	for t := range m.current.Topics("") {
		answer := kmsg.NewElectLeadersResponseTopic()
		answer.Topic = t.Name
		for n := range t.Partitions {
			change, err := m.elect(t, int32(n), unclean)
			if codeOf(err) == int16(kerr.ElectionNotNeeded) {
				continue
			}
			answer.Partitions = append(answer.Partitions, electionResult(int32(n), err))
			records = appendChange(records, change)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return outcome{records, resp}
}

// electNamed says which part of the name is unknown.
func (m *Machine) electNamed(tp model.TopicPartition, unclean bool) (*record.PartitionChange, error) {
	t, ok := m.current.Topic(tp.Topic)
	if !ok {
		return nil, fail(kerr.UnknownTopicOrPartition, "No such topic as "+tp.Topic)
	}
	if _, ok := t.Partition(tp.Partition); !ok {
		return nil, fail(kerr.UnknownTopicOrPartition, fmt.Sprintf("No such partition as %s-%d", tp.Topic, tp.Partition))
	}
	return m.elect(t, tp.Partition, unclean)
}

// elect gives the change that the election makes, or why there is none.
func (m *Machine) elect(t *image.Topic, n int32, unclean bool) (*record.PartitionChange, error) {
	p := t.Partitions[n]
	c := m.change(t, n)
	c.election = electPreferred
	missing := fail(kerr.PreferredLeaderNotAvailable, "The preferred leader was not available.")
	if unclean {
		c.election, missing = electUnclean, fail(kerr.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available.")
	}
	if unclean && p.Leader != model.NoBroker || !unclean && p.Leader == p.Replicas[0] {
		return nil, fail(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")
	}
	change := c.record()
	if change == nil || change.Leader == record.NoLeaderChange || change.Leader == model.NoBroker ||
		!unclean && change.Leader != p.Replicas[0] {
		return nil, missing
	}
	return change, nil
}

func electionResult(n int32, err error) kmsg.ElectLeadersResponseTopicPartition {
	resp := kmsg.NewElectLeadersResponseTopicPartition()
	resp.Partition, resp.ErrorCode, resp.ErrorMessage = n, codeOf(err), sentence(err)
	return resp
}
