// Package assignment reads which brokers hold which partitions, and changes it: what reassign-partitions and rebalance
// have in common (KIP-455, and KIP-73 for throttles).
//
// Requests: Metadata (3), DescribeLogDirs (35), AlterPartitionReassignments (45), ListPartitionReassignments (46),
// IncrementalAlterConfigs (44).
package assignment

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// Broker is one that serves; fenced ones are not told of.
type Broker struct {
	ID   int32
	Rack string // empty: none
}

// Partition is where a partition is. Leader is -1 while there is none.
type Partition struct {
	model.TopicPartition
	Leader   int32
	Replicas []int32
	ISR      []int32
}

// Cluster is the brokers and the partitions of the topics that were asked for, both in order.
type Cluster struct {
	Brokers    []Broker
	Partitions []Partition
	TopicIDs   map[string][16]byte
	// Missing are the topics that there are not.
	Missing []string
}

// Read asks for some topics; nil asks for all.
func Read(ctx context.Context, client *connection.Client, topics []string) (*Cluster, error) {
	req := kmsg.NewPtrMetadataRequest()
	if topics != nil {
		req.Topics = []kmsg.MetadataRequestTopic{} // an empty list is for none
	}
	for _, name := range topics {
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = &name
		req.Topics = append(req.Topics, one)
	}
	resp, err := connection.Ask(ctx, client, "describeTopics", req.RequestWith)
	if err != nil {
		return nil, err
	}
	c := &Cluster{TopicIDs: map[string][16]byte{}}
	for _, b := range resp.Brokers {
		found := Broker{ID: b.NodeID}
		if b.Rack != nil {
			found.Rack = *b.Rack
		}
		c.Brokers = append(c.Brokers, found)
	}
	for _, t := range resp.Topics {
		if t.ErrorCode == kerr.UnknownTopicOrPartition.Code {
			c.Missing = append(c.Missing, *t.Topic)
			continue
		}
		if err := kafkatext.Answer(t.ErrorCode, nil); err != nil {
			return nil, err
		}
		c.TopicIDs[*t.Topic] = t.TopicID
		for _, p := range t.Partitions {
			c.Partitions = append(c.Partitions, Partition{model.TopicPartition{Topic: *t.Topic, Partition: p.Partition}, p.Leader, p.Replicas, p.ISR})
		}
	}
	slices.SortFunc(c.Brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(c.Partitions, func(a, b Partition) int { return Compare(a.TopicPartition, b.TopicPartition) })
	return c, nil
}

// Compare orders partitions by topic, then by number.
func Compare(a, b model.TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
