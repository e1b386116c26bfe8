package topics

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// alter adds partitions to every topic that --topic selects (KIP-195). Partitions are never taken away: their records
// would be lost.
func (c *command) alter(ctx context.Context) error {
	total, err := c.partitions.Int(32, -1)
	if err != nil {
		return err
	}
	assignment, err := c.assignment()
	if err != nil {
		return err
	}
	meta, err := c.metadata(ctx)
	if err != nil {
		return err
	}
	names, err := c.expect(meta)
	if err != nil || len(names) == 0 {
		return err
	}
	have := map[string]int{}
	for _, t := range meta.Topics {
		have[*t.Topic] = len(t.Partitions)
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(c.client.Timeout.Milliseconds())
	for _, name := range names {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = name, int32(total)
		// The assignment names all partitions, those that exist too; the request takes the new ones.
		for i := have[name]; i < len(assignment); i++ {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = assignment[i]
			t.Assignment = append(t.Assignment, a)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := connection.Ask(ctx, c.client, "createPartitions", req.RequestWith)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kafkatext.Answer(t.ErrorCode, t.ErrorMessage); err != nil {
			return err
		}
	}
	return c.report(names)
}

// delete deletes every topic that --topic selects, in one request. The answer of one that fails ends the command, though
// others may be gone by then: so it is with the script.
func (c *command) delete(ctx context.Context) error {
	meta, err := c.metadata(ctx)
	if err != nil {
		return err
	}
	names, err := c.expect(meta)
	if err != nil || len(names) == 0 {
		return err
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(c.client.Timeout.Milliseconds())
	req.TopicNames = names // versions up to 5
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := connection.Ask(ctx, c.client, "deleteTopics", req.RequestWith)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kafkatext.Answer(t.ErrorCode, t.ErrorMessage); err != nil {
			return err
		}
	}
	return c.report(names)
}

// report names the topics that were changed in JSON; the script prints nothing.
func (c *command) report(names []string) error {
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, names)
	}
	return nil
}
