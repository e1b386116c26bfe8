package controller

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
)

// createPartitions adds partitions to topics; those that a topic has stay as they are.
//
// Versions 0 to 3, which differ in framing and throttling only.
//
// Errors of a topic:
//
//	3  it does not exist
//	37 the count is not more than there are
//	38 the topic's replication factor is more than there are brokers
//	39 the assignment has another length than the increase, or is wrong as in CreateTopics
//	42 the topic is named twice
//	44 the request asks for more than 10,000 partitions; Kafka 4.3.1 fails with -1 there
func (m *Machine) createPartitions(r *kmsg.CreatePartitionsRequest) outcome {
	resp := reply[*kmsg.CreatePartitionsResponse](r)
	room := partitionsMax
	var records []record.Record
	for _, each := range distinct(len(r.Topics), func(i int) string { return r.Topics[i].Topic }) {
		t := r.Topics[each.first]
		var added []*record.Partition
		err := fail(kerr.InvalidRequest, "Duplicate topic name.")
		if each.times == 1 {
			added, err = m.addedPartitions(t, room)
		}
		if err != nil {
			resp.Topics = append(resp.Topics, partitionsFailure(t.Topic, err))
			continue
		}
		room -= len(added)
		done := kmsg.NewCreatePartitionsResponseTopic()
		done.Topic = t.Topic
		resp.Topics = append(resp.Topics, done)
		for _, p := range added {
			records = append(records, p)
		}
	}
	if r.ValidateOnly {
		records = nil
	}
	return outcome{records, resp}
}

// addedPartitions keeps the replication factor that the topic's first partition has; room is what the request may still add.
func (m *Machine) addedPartitions(t kmsg.CreatePartitionsRequestTopic, room int) ([]*record.Partition, error) {
	topic, ok := m.current.Topic(t.Topic)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition
	}
	has := len(topic.Partitions)
	added := int64(t.Count) - int64(has)
	switch {
	case added == 0:
		return nil, fail(kerr.InvalidPartitions, fmt.Sprintf("Topic already has %d partition(s).", has))
	case added < 0:
		return nil, fail(kerr.InvalidPartitions,
			fmt.Sprintf("The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, has, t.Count))
	case added > int64(room):
		return nil, fail(kerr.PolicyViolation, "Excessively large number of partitions per request.")
	}
	factor := len(topic.Partitions[0].Replicas)
	if t.Assignment == nil {
		return m.place(topic.ID, has, int(added), factor)
	}
	return m.assignedPartitions(topic, t, int(added), factor)
}

// assignedPartitions takes the request's lists in order for the partitions that follow the existing ones.
func (m *Machine) assignedPartitions(topic *image.Topic, t kmsg.CreatePartitionsRequestTopic, added, factor int) ([]*record.Partition, error) {
	if len(t.Assignment) != added {
		return nil, fail(kerr.InvalidReplicaAssignment, fmt.Sprintf(
			"Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", added, len(t.Assignment)))
	}
	partitions := make([]*record.Partition, 0, added)
	for i, a := range t.Assignment {
		p, err := m.assignedPartition(topic.ID, int32(len(topic.Partitions)+i), brokerIDs(a.Replicas), factor)
		if err != nil {
			return nil, err
		}
		partitions = append(partitions, p)
	}
	return partitions, nil
}

func partitionsFailure(name string, err error) kmsg.CreatePartitionsResponseTopic {
	resp := kmsg.NewCreatePartitionsResponseTopic()
	resp.Topic, resp.ErrorCode, resp.ErrorMessage = name, codeOf(err), message(err)
	return resp
}
