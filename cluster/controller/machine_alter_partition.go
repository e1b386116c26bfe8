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

// proposedISR is what a leader proposes for a partition: the members with the broker epochs it knows (-1: any).
type proposedISR struct {
	ids    []model.BrokerID
	epochs []model.BrokerEpoch
}

// newISR reads either form of the proposal: before version 3 members come without epochs.
func newISR(asked kmsg.AlterPartitionRequestTopicPartition) proposedISR {
	var isr proposedISR
	for _, id := range asked.NewISR {
		isr.ids, isr.epochs = append(isr.ids, model.BrokerID(id)), append(isr.epochs, -1)
	}
	for _, member := range asked.NewEpochISR {
		isr.ids = append(isr.ids, model.BrokerID(member.BrokerID))
		isr.epochs = append(isr.epochs, model.BrokerEpoch(member.BrokerEpoch))
	}
	return isr
}

// alterPartition lets a leader change its ISR. Checks come in the order of facts/replication.md 6.
//
// Versions 2 and 3, between brokers and controllers only: 3 brings the members' broker epochs (KIP-903).
//
// Errors of the whole: 77 the sender's epoch is stale, 102 it is not registered. Of a partition:
//
//	3   there is no such partition
//	41  the sender knows a later state than this controller
//	42  the sender does not lead; the ISR lacks it, repeats a member or has a stranger; a recovery that cannot be
//	74  the sender's leader epoch is over
//	95  its partition epoch is
//	100 there is no such topic
//	107 a member is fenced, stopping, or another incarnation; or its replica lies in a directory that failed, which Kafka takes in
//	108 done, and with it a reassignment that made another broker the leader
func (m *Machine) alterPartition(r *kmsg.AlterPartitionRequest) outcome {
	resp := reply[*kmsg.AlterPartitionResponse](r)
	sender := model.BrokerID(r.BrokerID)
	if _, err := m.registered(sender, model.BrokerEpoch(r.BrokerEpoch)); err != nil {
		resp.ErrorCode = codeOf(err)
		return outcome{response: resp}
	}
	var records []record.Record
	for _, t := range r.Topics {
		answer := kmsg.NewAlterPartitionResponseTopic()
		answer.TopidID = t.TopicID // as kmsg spells it
		topic, known := m.current.TopicByID(t.TopicID)
		for _, p := range t.Partitions {
			result := kmsg.NewAlterPartitionResponseTopicPartition()
			result.Partition = p.Partition
			if !known {
				result.ErrorCode = int16(kerr.UnknownTopicID)
			} else {
				records = appendChange(records, m.alterISR(sender, topic, p, &result))
			}
			answer.Partitions = append(answer.Partitions, result)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return outcome{records, resp}
}

// alterISR judges one proposal, and answers with the state that it leads to.
func (m *Machine) alterISR(sender model.BrokerID, t *image.Topic, asked kmsg.AlterPartitionRequestTopicPartition, result *kmsg.AlterPartitionResponseTopicPartition) *record.PartitionChange {
	p, ok := t.Partition(asked.Partition)
	if !ok {
		result.ErrorCode = int16(kerr.UnknownTopicOrPartition)
		return nil
	}
	isr := newISR(asked)
	if err := m.checkISR(sender, p, asked, isr); err != nil {
		result.ErrorCode = codeOf(err)
		return nil
	}
	c := m.change(t, asked.Partition)
	c.isr, c.recovery = isr.ids, asked.LeaderRecoveryState
	change := c.record()
	next := *p
	if change != nil {
		next = p.Changed(change)
	}
	if next.Leader != p.Leader {
		// The reassignment ended and the sender is out: it must not read the rest as its own state.
		result.ErrorCode = int16(kerr.NewLeaderElected)
		return change
	}
	result.LeaderID, result.LeaderEpoch = int32(next.Leader), int32(next.LeaderEpoch)
	result.ISR, result.PartitionEpoch = int32s(next.ISR), int32(next.Epoch)
	result.LeaderRecoveryState = next.LeaderRecoveryState
	return change
}

// checkISR distinguishes who is wrong: a leader ahead of this controller asks another one (41), one behind it has been
// replaced (74) or acts on an old state (95), and a member that cannot be trusted may be one later (107).
func (m *Machine) checkISR(sender model.BrokerID, p *image.Partition, asked kmsg.AlterPartitionRequestTopicPartition, isr proposedISR) error {
	leaderEpoch, epoch := model.LeaderEpoch(asked.LeaderEpoch), model.PartitionEpoch(asked.PartitionEpoch)
	switch {
	case leaderEpoch > p.LeaderEpoch || epoch > p.Epoch:
		return kerr.NotController
	case leaderEpoch < p.LeaderEpoch:
		return kerr.FencedLeaderEpoch
	case sender != p.Leader:
		return kerr.InvalidRequest
	case epoch < p.Epoch:
		return kerr.InvalidUpdateVersion
	case !slices.Contains(isr.ids, p.Leader):
		return fail(kerr.InvalidRequest, "the leader is not in the proposed ISR")
	case asked.LeaderRecoveryState == record.Recovering && len(isr.ids) > 1:
		return fail(kerr.InvalidRequest, "a recovering leader is alone in its ISR")
	case asked.LeaderRecoveryState == record.Recovering && p.LeaderRecoveryState == record.Recovered:
		return fail(kerr.InvalidRequest, "a recovered leader does not recover again")
	case asked.LeaderRecoveryState != record.Recovering && asked.LeaderRecoveryState != record.Recovered:
		return fail(kerr.InvalidRequest, fmt.Sprintf("leader recovery state %d is unknown", asked.LeaderRecoveryState))
	}
	for i, id := range isr.ids {
		if !slices.Contains(p.Replicas, id) || slices.Contains(isr.ids[:i], id) {
			return fail(kerr.InvalidRequest, fmt.Sprintf("broker %d is no replica, or twice in the proposed ISR", id))
		}
	}
	for i, id := range isr.ids {
		b, ok := m.current.Broker(id)
		if !ok || !b.Active() || !b.HasOnline(p) || isr.epochs[i] != -1 && isr.epochs[i] != b.Epoch {
			return kerr.IneligibleReplica
		}
	}
	return nil
}
