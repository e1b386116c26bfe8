package consumergroups

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// Timestamps of ListOffsets that stand for an end of the log.
const (
	latest   = -1
	earliest = -2
)

// inFuture gives a broker's error the text it has for the script when it comes out of a future: the exception's class
// goes before it.
func inFuture(err error) error {
	var failure *kafkatext.Failure
	if errors.As(err, &failure) {
		return errors.New(failure.Qualified())
	}
	return err
}

// inRuntime is inFuture of an exception that the script has wrapped once more.
func inRuntime(err error) error {
	var failure *kafkatext.Failure
	if errors.As(err, &failure) {
		return errors.New("java.util.concurrent.ExecutionException: " + failure.Qualified())
	}
	return err
}

// commit is a committed offset; epoch is -1 when the consumer did not tell one (KIP-320).
type commit struct {
	offset int64
	epoch  int32
}

// committed asks the coordinator for every offset of a group.
func (c *command) committed(ctx context.Context, group string) (map[model.TopicPartition]commit, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	resp, err := connection.Ask(ctx, c.client, "listConsumerGroupOffsets", req.RequestWith)
	if err != nil {
		return nil, err
	}
	found := map[model.TopicPartition]commit{}
	// The client puts the answers of old versions, which know one group, into this form as well.
	for _, g := range resp.Groups {
		if err := kafkatext.Answer(g.ErrorCode, nil); err != nil {
			return nil, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kafkatext.Answer(p.ErrorCode, nil); err != nil {
					return nil, err
				}
				if p.Offset != int64(model.NoOffset) {
					found[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = commit{p.Offset, p.LeaderEpoch}
				}
			}
		}
	}
	return found, nil
}

// topics describes topics; those that are not there have an error code.
func (c *command) topics(ctx context.Context, names []string) ([]kmsg.MetadataResponseTopic, error) {
	if len(names) == 0 { // an empty list asks brokers for none, but old ones for all
		return nil, nil
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := connection.Ask(ctx, c.client, "describeTopics", req.RequestWith)
	if err != nil {
		return nil, err
	}
	return resp.Topics, nil
}

// leaders gives the leader of each partition of topics, -1 for none. A topic that is not there is left out, with its
// error as the second result.
func (c *command) leaders(ctx context.Context, names []string) (map[model.TopicPartition]int32, map[string]error, error) {
	topics, err := c.topics(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	found, absent := map[model.TopicPartition]int32{}, map[string]error{}
	for _, t := range topics {
		if t.Topic == nil {
			continue
		}
		// A topic just being made has an error of its own and partitions all the same.
		if err := kafkatext.Answer(t.ErrorCode, nil); err != nil && len(t.Partitions) == 0 {
			absent[*t.Topic] = err
		}
		for _, p := range t.Partitions {
			found[model.TopicPartition{Topic: *t.Topic, Partition: p.Partition}] = p.Leader
		}
	}
	return found, absent, nil
}

// position is the answer of ListOffsets to a partition, or its error.
type position struct {
	offset int64
	err    error
}

// offsetsAt asks the leaders for the offsets of a time, or of an end of the log.
func (c *command) offsetsAt(ctx context.Context, partitions []model.TopicPartition, timestamp int64) (map[model.TopicPartition]position, error) {
	found := map[model.TopicPartition]position{}
	if len(partitions) == 0 {
		return found, nil
	}
	req := kmsg.NewPtrListOffsetsRequest()
	// A client and no replica: offsets up to the high watermark only.
	req.ReplicaID = -1
	req.TimeoutMillis = int32(c.client.Timeout.Milliseconds())
	for topic, numbers := range byTopic(partitions) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, n := range numbers {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = n, timestamp
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := connection.Ask(ctx, c.client, "listOffsets", req.RequestWith)
	if err != nil {
		return nil, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			found[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = position{p.Offset, kafkatext.Answer(p.ErrorCode, nil)}
		}
	}
	return found, nil
}

// byTopic keeps the order of partitions within a topic.
func byTopic(partitions []model.TopicPartition) map[string][]int32 {
	grouped := map[string][]int32{}
	for _, tp := range partitions {
		grouped[tp.Topic] = append(grouped[tp.Topic], tp.Partition)
	}
	return grouped
}

// topicsOf gives each topic once.
func topicsOf(partitions []model.TopicPartition) []string {
	var topics []string
	for _, tp := range partitions {
		topics = append(topics, tp.Topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// named writes partitions as Java's TopicPartition does.
func named(partitions []model.TopicPartition) string {
	texts := make([]string, len(partitions))
	for i, tp := range partitions {
		texts[i] = tp.String()
	}
	return strings.Join(texts, ",")
}
