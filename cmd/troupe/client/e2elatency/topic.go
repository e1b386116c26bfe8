package e2elatency

import (
	"context"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
)

// A topic that is not there is made so: one partition keeps the order, and what replication adds to the time is measured
// on a topic that was made for it.
const (
	partitions  = 1
	replication = 1
)

// prepare makes the topic where it is missing and gives the end of each of its partitions, from which the consumer reads.
func (p *plan) prepare(ctx context.Context, out, warn io.Writer) (map[int32]kgo.Offset, error) {
	// A client of its own: what it asks must not warm the connections of those that are measured.
	client, err := connection.Open(p.bootstrap, p.props, "adminclient-1", warn)
	if err != nil {
		return nil, fmt.Errorf("Failed to construct kafka consumer: %w", err)
	}
	defer client.Close()
	found, err := p.describe(ctx, client)
	if err != nil {
		return nil, err
	}
	if found.ErrorCode == kerr.UnknownTopicOrPartition.Code {
		fmt.Fprintf(out, "Topic \"%s\" does not exist. Will create topic with %d partition(s) and replication factor = %d\n",
			p.topic, partitions, replication)
		if err := p.create(ctx, client); err != nil {
			fmt.Fprintf(out, "Creation of topic %s failed\n", p.topic)
			return nil, err
		}
		// Its leader may not be elected yet, but where it begins is known.
		return map[int32]kgo.Offset{0: kgo.NewOffset().At(0)}, nil
	}
	if err := kafkatext.Answer(found.ErrorCode, nil); err != nil {
		return nil, err
	}
	return p.ends(ctx, client, found.Partitions)
}

// describe asks for the topic without making it: brokers that make topics would give it their own number of partitions.
func (p *plan) describe(ctx context.Context, client *connection.Client) (kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &p.topic
	req.Topics = append(req.Topics, topic)
	answer, err := connection.Ask(ctx, client, "metadata", req.RequestWith)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, err
	}
	if len(answer.Topics) != 1 {
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("the broker told of %d topics and not of %s alone", len(answer.Topics), p.topic)
	}
	return answer.Topics[0], nil
}

func (p *plan) create(ctx context.Context, client *connection.Client) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = p.topic, partitions, replication
	req.Topics = append(req.Topics, topic)
	answer, err := connection.Ask(ctx, client, "createTopics", req.RequestWith)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		if err := kafkatext.Answer(t.ErrorCode, t.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

// timestampEnd asks ListOffsets for the end.
const timestampEnd = -1

// ends asks for the end of every partition. The consumer begins there and not at "the end", which it would look for only
// after the first record was sent.
func (p *plan) ends(ctx context.Context, client *connection.Client, all []kmsg.MetadataResponseTopicPartition) (map[int32]kgo.Offset, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = p.topic
	for _, one := range all {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = one.Partition, timestampEnd
		topic.Partitions = append(topic.Partitions, partition)
	}
	req.Topics = append(req.Topics, topic)
	answer, err := connection.Ask(ctx, client, "listOffsets", req.RequestWith)
	if err != nil {
		return nil, err
	}
	ends := map[int32]kgo.Offset{}
	for _, t := range answer.Topics {
		for _, one := range t.Partitions {
			if err := kafkatext.Answer(one.ErrorCode, nil); err != nil {
				return nil, fmt.Errorf("%s-%d: %w", p.topic, one.Partition, err)
			}
			ends[one.Partition] = kgo.NewOffset().At(one.Offset)
		}
	}
	return ends, nil
}
