package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// describe gathers what four requests know of the topics: partitions, ids and ELR (KIP-966), configs, moves under way, and
// which brokers are alive.
func (c *command) describe(ctx context.Context) error {
	meta, err := c.metadata(ctx)
	if err != nil {
		return err
	}
	topics, err := c.selected(ctx, meta)
	if err != nil {
		return err
	}
	if len(topics) > 0 {
		if err := c.addConfigs(ctx, topics); err != nil {
			return err
		}
		if err := c.addReassignments(ctx, topics); err != nil {
			return err
		}
	}
	live := map[int32]bool{}
	for _, b := range meta.Brokers {
		live[b.NodeID] = true
	}
	shown := c.filter(topics, live)
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, shown)
	}
	for _, t := range shown {
		t.print(c.streams.Out)
	}
	return nil
}

// selected gives the topics of --topic-id or --topic, without configs, in the order the script prints them.
func (c *command) selected(ctx context.Context, meta *kmsg.MetadataResponse) ([]*topic, error) {
	text, err := c.topicID.One()
	if err != nil {
		return nil, err
	}
	if text != "" {
		id, err := model.ParseUUID(text)
		if err != nil {
			return nil, err
		}
		if !id.IsZero() {
			return c.byID(meta, id)
		}
	}
	names, err := c.expect(meta)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	found, err := c.byName(ctx, names)
	// Metadata knows all but the ELR, which is then shown as not known.
	if errors.Is(err, errNoDescribe) {
		return fromMetadata(meta, names), nil
	}
	return found, err
}

// byID finds a topic by its id in the metadata; the script asks for ids in no other way.
func (c *command) byID(meta *kmsg.MetadataResponse, id model.UUID) ([]*topic, error) {
	for _, t := range meta.Topics {
		if t.TopicID == id && !(t.IsInternal && c.has("exclude-internal")) {
			return fromMetadata(meta, []string{*t.Topic}), nil
		}
	}
	if c.has("if-exists") {
		return nil, nil
	}
	return nil, fmt.Errorf("TopicId '%s' does not exist as expected", id)
}

// errNoDescribe says that the cluster has no DescribeTopicPartitions (before 3.7).
var errNoDescribe = errors.New("DescribeTopicPartitions is not supported")

// byName pages through DescribeTopicPartitions.
func (c *command) byName(ctx context.Context, names []string) ([]*topic, error) {
	// 2000 is the broker's own default, too.
	limit, err := c.responseLimit.Int(32, 2000)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = int32(limit)
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	found := map[string]*topic{}
	for {
		resp, err := connection.Ask(ctx, c.client, "describeTopicPartitions", req.RequestWith)
		if connection.Unsupported(err) {
			return nil, errNoDescribe
		}
		if err != nil {
			return nil, err
		}
		for _, t := range resp.Topics {
			if err := kafkatext.Answer(t.ErrorCode, nil); err != nil {
				return nil, err
			}
			at := found[*t.Topic]
			if at == nil {
				at = &topic{Name: *t.Topic, ID: uuid(t.TopicID)}
				found[*t.Topic] = at
			}
			at.add(t.Partitions)
		}
		// The broker cuts its answer at a number of partitions (max.request.partition.size.limit) and says where to go on.
		if resp.NextCursor == nil {
			break
		}
		next := kmsg.NewDescribeTopicPartitionsRequestCursor()
		next.Topic, next.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		req.Cursor = &next
	}
	var topics []*topic
	for _, name := range kafkatext.HashOrder(names, len(names)) {
		if found[name] != nil {
			topics = append(topics, found[name])
		}
	}
	return topics, nil
}

// add appends a page: a topic with many partitions comes in several.
func (t *topic) add(partitions []kmsg.DescribeTopicPartitionsResponseTopicPartition) {
	for _, p := range partitions {
		t.Partitions = append(t.Partitions, partition{
			Partition: p.Partition, Leader: p.LeaderID, Replicas: p.Replicas, ISR: p.ISR,
			ELR: p.EligibleLeaderReplicas, LastKnownELR: p.LastKnownELR,
		})
	}
}

// fromMetadata describes topics where only Metadata is at hand; it knows no ELR.
func fromMetadata(meta *kmsg.MetadataResponse, names []string) []*topic {
	found := map[string]*topic{}
	for _, t := range meta.Topics {
		d := &topic{Name: *t.Topic, ID: uuid(t.TopicID)}
		for _, p := range t.Partitions {
			d.Partitions = append(d.Partitions, partition{Partition: p.Partition, Leader: p.Leader, Replicas: p.Replicas, ISR: p.ISR})
		}
		found[d.Name] = d
	}
	var topics []*topic
	for _, name := range kafkatext.HashOrder(names, len(names)) {
		topics = append(topics, found[name])
	}
	return topics
}
