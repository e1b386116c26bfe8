package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// alterReassignments moves replicas to a target, or back where the target is null (facts/replication.md 10). It only starts:
// the new replicas fetch until they are in the ISR, and the leader's proposal of that ISR ends the move.
//
// Versions 0 and 1: 1 can forbid another replication factor (KIP-860).
//
// Errors of a partition:
//
//	3  there is no such topic or partition
//	38 the number of replicas changes, and may not
//	39 the target is empty, repeats a broker or names an unknown one; or nobody from before could lead again
//	85 there is nothing to take back
func (m *Machine) alterReassignments(r *kmsg.AlterPartitionAssignmentsRequest) outcome {
	resp := reply[*kmsg.AlterPartitionAssignmentsResponse](r)
	resp.AllowReplicationFactorChange = r.AllowReplicationFactorChange
	var records []record.Record
	for _, t := range r.Topics {
		answer := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		answer.Topic = t.Topic
		for _, asked := range t.Partitions {
			change, err := m.reassign(t.Topic, asked, r.Version < 1 || r.AllowReplicationFactorChange)
			result := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			result.Partition, result.ErrorCode, result.ErrorMessage = asked.Partition, codeOf(err), message(err)
			answer.Partitions = append(answer.Partitions, result)
			records = appendChange(records, change)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return outcome{records, resp}
}

// reassign sets the target; whether it is reached already is found by the change itself.
func (m *Machine) reassign(name string, asked kmsg.AlterPartitionAssignmentsRequestTopicPartition, resize bool) (*record.PartitionChange, error) {
	t, ok := m.current.Topic(name)
	if !ok {
		return nil, fail(kerr.UnknownTopicOrPartition, fmt.Sprintf("Unable to find a topic named %s.", name))
	}
	p, ok := t.Partition(asked.Partition)
	if !ok {
		return nil, fail(kerr.UnknownTopicOrPartition, fmt.Sprintf("Unable to find partition %s:%d.", name, asked.Partition))
	}
	if asked.Replicas == nil {
		return m.cancelReassignment(t, asked.Partition, p)
	}
	target := brokerIDs(asked.Replicas)
	if err := m.checkAssignment(target, 0); err != nil {
		return nil, err
	}
	// What counts as the old list is the one before the running reassignment.
	old := without(p.Replicas, p.Adding...)
	if has := trusted(p); !slices.ContainsFunc(has, func(id model.BrokerID) bool { return slices.Contains(old, id) || slices.Contains(target, id) }) {
		old = append(old, has...) // only they have what is committed: they stay until others have it
	}
	if !resize && len(target) != len(old) {
		return nil, fail(kerr.InvalidReplicationFactor, fmt.Sprintf(
			"The replication factor is changed from %d to %d", len(old), len(target)))
	}
	c := m.change(t, asked.Partition)
	c.adding, c.removing = without(target, old...), without(old, target...)
	c.replicas = slices.Concat(target, c.removing)
	c.isr = slices.DeleteFunc(slices.Clone(p.ISR), func(id model.BrokerID) bool { return !slices.Contains(c.replicas, id) })
	return c.record(), nil
}

// trusted are the replicas that have all that is committed: the ISR, or the eligible leaders of one that is empty.
func trusted(p *image.Partition) []model.BrokerID {
	if len(p.ISR) > 0 {
		return p.ISR
	}
	return p.ELR
}

// cancelReassignment goes back to the replicas from before, if one of them can lead.
func (m *Machine) cancelReassignment(t *image.Topic, n int32, p *image.Partition) (*record.PartitionChange, error) {
	if !p.Reassigning() {
		return nil, kerr.NoReassignmentInProgress
	}
	c := m.change(t, n)
	c.replicas, c.adding, c.removing = without(p.Replicas, p.Adding...), nil, nil
	c.isr = without(p.ISR, p.Adding...)
	if len(c.isr) == 0 && (c.election != electUnclean || !slices.ContainsFunc(c.replicas, c.live)) {
		return nil, fail(kerr.InvalidReplicaAssignment, fmt.Sprintf(
			"Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", t.Name, n))
	}
	return c.record(), nil
}

// listReassignments lists the running ones of all topics, or of those named; what does not exist is not being moved.
// Version 0. It has no errors of its own.
func (m *Machine) listReassignments(r *kmsg.ListPartitionReassignmentsRequest) outcome {
	resp := reply[*kmsg.ListPartitionReassignmentsResponse](r)
	add := func(t *image.Topic, numbers []int32) {
		answer := kmsg.NewListPartitionReassignmentsResponseTopic()
		answer.Topic = t.Name
		for _, n := range numbers {
			if p, ok := t.Partition(n); ok && p.Reassigning() {
				running := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
				running.Partition, running.Replicas = n, int32s(p.Replicas)
				running.AddingReplicas, running.RemovingReplicas = int32s(p.Adding), int32s(p.Removing)
				answer.Partitions = append(answer.Partitions, running)
			}
		}
		if len(answer.Partitions) > 0 {
			resp.Topics = append(resp.Topics, answer)
		}
	}
	if r.Topics != nil {
		for _, named := range r.Topics {
			if t, ok := m.current.Topic(named.Topic); ok {
				add(t, named.Partitions)
			}
		}
		return outcome{response: resp}
	}
	for t := range m.current.Topics("") {
		all := make([]int32, len(t.Partitions))
		for n := range all {
			all[n] = int32(n)
		}
		add(t, all)
	}
	return outcome{response: resp}
}
