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

// partitionsMax is how many partitions one request may create (facts/replication.md 9).
const partitionsMax = 10_000

// newTopic is a topic that passed every check.
type newTopic struct {
	id         model.TopicID
	name       string
	config     image.Config
	partitions []*record.Partition
}

// createTopics answers each topic on its own; those that fail do not keep the others from being made.
//
// Versions 2 to 7: from 5 on the reply has counts and configs (KIP-525), from 7 on the topic's id (KIP-516).
//
// Errors of a topic:
//
//	17 the name is malformed, or collides with another's
//	36 it exists
//	37 the number of partitions is 0 or less than -1
//	38 so is the replication factor, or it is more than there are brokers
//	39 the assignment is incomplete, repeats a broker, or names an unknown one
//	40 a config is null, unknown or out of range
//	42 the topic is named twice, or has counts beside an assignment; or it is the metadata log
//	44 the request asks for more than 10,000 partitions in all
func (m *Machine) createTopics(r *kmsg.CreateTopicsRequest) outcome {
	resp := reply[*kmsg.CreateTopicsResponse](r)
	tooMany := m.askedPartitions(r) > partitionsMax
	var records []record.Record
	for _, name := range distinct(len(r.Topics), func(i int) string { return r.Topics[i].Topic }) {
		t := r.Topics[name.first]
		var topic *newTopic
		var err error
		switch {
		case tooMany:
			err = fail(kerr.PolicyViolation, "Excessively large number of partitions per request.")
		case name.times > 1:
			err = fail(kerr.InvalidRequest, "Duplicate topic name.")
		default:
			topic, err = m.newTopic(t)
		}
		if err != nil {
			resp.Topics = append(resp.Topics, topicFailure(t.Topic, err))
			continue
		}
		resp.Topics = append(resp.Topics, m.created(topic))
		records = append(records, topic.records()...)
	}
	if r.ValidateOnly {
		records = nil
	}
	return outcome{records, resp}
}

// named is a name of a request: where it comes first and last, and how often.
type named struct {
	first, last, times int
}

// distinct gives the different ones of n names in the order in which they come first.
func distinct(n int, name func(i int) string) []named {
	at := make(map[string]int, n)
	var list []named
	for i := range n {
		key := name(i)
		if j, ok := at[key]; ok {
			list[j].last = i
			list[j].times++
			continue
		}
		at[key] = len(list)
		list = append(list, named{i, i, 1})
	}
	return list
}

// askedPartitions counts before anything is allocated for them; what is not a count is judged later, topic by topic.
func (m *Machine) askedPartitions(r *kmsg.CreateTopicsRequest) int64 {
	var sum int64
	for _, t := range r.Topics {
		switch {
		case len(t.ReplicaAssignment) > 0:
			sum += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			sum += int64(m.options.Partitions)
		case t.NumPartitions > 0:
			sum += int64(t.NumPartitions)
		}
	}
	return sum
}

// newTopic checks a topic and places its partitions.
func (m *Machine) newTopic(t kmsg.CreateTopicsRequestTopic) (*newTopic, error) {
	if err := m.checkNewName(t.Topic); err != nil {
		return nil, err
	}
	config, err := m.newTopicConfig(t)
	if err != nil {
		return nil, err
	}
	id, err := model.NewUUID(m.options.Random)
	if err != nil {
		return nil, err
	}
	topic := &newTopic{id: id, name: t.Topic, config: config}
	if len(t.ReplicaAssignment) > 0 {
		topic.partitions, err = m.assigned(id, t)
	} else {
		topic.partitions, err = m.placedTopic(id, t)
	}
	if err != nil {
		return nil, err
	}
	return topic, nil
}

// checkNewName compares with topics that exist; as in Kafka, two of one request may collide with each other.
func (m *Machine) checkNewName(name string) error {
	if err := CheckTopicName(name); err != nil {
		return err
	}
	if _, ok := m.current.Topic(name); ok {
		return fail(kerr.TopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", name))
	}
	if other, ok := m.current.Collision(name); ok {
		return fail(kerr.InvalidTopicException, fmt.Sprintf("Topic '%s' collides with existing topic: %s", name, other))
	}
	return nil
}

// newTopicConfig judges the whole set. A key given twice is taken as it was given last.
func (m *Machine) newTopicConfig(t kmsg.CreateTopicsRequestTopic) (image.Config, error) {
	values := make(map[string]string, len(t.Configs))
	changes := make([]ConfigChange, 0, len(t.Configs))
	for _, c := range t.Configs {
		if c.Value == nil {
			return image.Config{}, fail(kerr.InvalidConfig, "Null value not supported for topic configs: "+c.Name)
		}
		changes = append(changes, ConfigChange{Key: c.Name, Value: c.Value})
		values[c.Name] = *c.Value
	}
	return image.NewConfig(values), m.options.Rules.Check(image.ConfigResource{Type: image.TopicResource, Name: t.Topic}, changes)
}

// placedTopic places as many partitions and replicas as asked; -1 asks for the defaults.
func (m *Machine) placedTopic(id model.TopicID, t kmsg.CreateTopicsRequestTopic) ([]*record.Partition, error) {
	count, factor := t.NumPartitions, t.ReplicationFactor
	switch {
	case factor < -1 || factor == 0:
		return nil, fail(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case count < -1 || count == 0:
		return nil, fail(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if count == -1 {
		count = m.options.Partitions
	}
	if factor == -1 {
		factor = m.options.ReplicationFactor
	}
	return m.place(id, 0, int(count), int(factor))
}

// assigned takes the replicas of each partition from the request.
func (m *Machine) assigned(id model.TopicID, t kmsg.CreateTopicsRequestTopic) ([]*record.Partition, error) {
	switch {
	case t.ReplicationFactor != -1:
		return nil, fail(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case t.NumPartitions != -1:
		return nil, fail(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	partitions := make([]*record.Partition, len(t.ReplicaAssignment))
	factor := 0
	seen := map[int32]bool{}
	for _, a := range t.ReplicaAssignment {
		if seen[a.Partition] {
			return nil, fail(kerr.InvalidReplicaAssignment,
				fmt.Sprintf("Found multiple manual partition assignments for partition %d", a.Partition))
		}
		seen[a.Partition] = true
		p, err := m.assignedPartition(id, a.Partition, brokerIDs(a.Replicas), factor)
		if err != nil {
			return nil, err
		}
		factor = len(a.Replicas)
		if a.Partition >= 0 && int(a.Partition) < len(partitions) {
			partitions[a.Partition] = p
		}
	}
	if slices.Contains(partitions, nil) {
		return nil, fail(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
	}
	return partitions, nil
}

// records creates the topic, in the order in which Kafka writes them.
func (t *newTopic) records() []record.Record {
	records := []record.Record{&record.Topic{Name: t.name, ID: t.id}}
	for key, value := range t.config.All() {
		records = append(records, &record.Config{
			ResourceType: int8(image.TopicResource), ResourceName: t.name, Name: key, Value: &value,
		})
	}
	for _, p := range t.partitions {
		records = append(records, p)
	}
	return records
}

// created answers with what the topic will have, configs included, so that the client need not ask again (KIP-525).
func (m *Machine) created(t *newTopic) kmsg.CreateTopicsResponseTopic {
	resp := kmsg.NewCreateTopicsResponseTopic()
	resp.Topic, resp.TopicID = t.name, t.id
	resp.NumPartitions, resp.ReplicationFactor = int32(len(t.partitions)), int16(len(t.partitions[0].Replicas))
	resp.Configs = m.options.Rules.DescribeTopic(m.current, t.config)
	return resp
}

// topicFailure leaves id, counts and configs at "unknown".
func topicFailure(name string, err error) kmsg.CreateTopicsResponseTopic {
	resp := kmsg.NewCreateTopicsResponseTopic()
	resp.Topic, resp.ErrorCode, resp.ErrorMessage = name, codeOf(err), message(err)
	return resp
}
