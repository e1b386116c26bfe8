package consumergroups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// target is the offset that a partition of a group gets.
type target struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"newOffset"`
}

// reset plans new offsets (KIP-122) and, with --execute, commits them. Groups that have members are told and left out:
// their next commit would undo it.
func (c *command) reset(ctx context.Context) error {
	ids, err := c.groupIDs(ctx)
	if err != nil {
		return err
	}
	ids = kafkatext.HashOrder(slices.Compact(slices.Sorted(slices.Values(ids))), 0)
	all := []target{}
	for _, id := range ids {
		idle, err := c.idle(ctx, id)
		if err != nil {
			return err
		}
		if !idle {
			continue
		}
		targets, err := c.resetGroup(ctx, id)
		if err != nil {
			return err
		}
		all = append(all, targets...)
	}
	switch {
	case option.JSON(c.fs):
		return option.WriteJSON(c.streams, all)
	case c.has("export"):
		exportCSV(c.streams.Out, all, len(c.group.All()) == 1)
	default:
		printTargets(c.streams.Out, ids, all)
	}
	return nil
}

// idle tells whether a group may be reset. One that does not exist comes into being by it.
func (c *command) idle(ctx context.Context, id string) (bool, error) {
	found, err := c.described(ctx, []string{id})
	var failure *kafkatext.Failure
	switch {
	case errors.As(err, &failure) && kerr.Code(failure.Code) == kerr.GroupIDNotFound:
		return true, nil
	case err != nil:
		return false, inRuntime(err)
	case found[0].state == "Empty" || found[0].state == "Dead":
		return true, nil
	}
	return false, c.complain(fmt.Sprintf("Assignments can only be reset if the group '%s' is inactive, but the current state is %s.", id, found[0].state))
}

// resetGroup plans everything before it commits anything: a partition that cannot be planned leaves the others as they
// were. The commit itself is one request, which the coordinator takes or refuses partition by partition.
func (c *command) resetGroup(ctx context.Context, id string) ([]target, error) {
	partitions, err := c.scope(ctx, id)
	if err != nil {
		return nil, err
	}
	planned, err := c.plan(ctx, id, partitions)
	if err != nil {
		return nil, err
	}
	var order []model.TopicPartition
	for tp := range planned {
		order = append(order, tp)
	}
	slices.SortFunc(order, model.TopicPartition.Compare)
	targets := make([]target, len(order))
	// Rows come as the script's map has them, which is neither by name nor by number.
	for i, tp := range kafkatext.HashOrderPartitions(order) {
		targets[i] = target{id, tp.Topic, tp.Partition, planned[tp]}
	}
	if c.has("execute") && len(targets) > 0 {
		err = c.commit(ctx, id, planned)
	}
	return targets, err
}

// scope gives the partitions to reset. A file brings its own.
func (c *command) scope(ctx context.Context, id string) ([]model.TopicPartition, error) {
	var partitions []model.TopicPartition
	switch {
	case c.has("all-topics"):
		commits, err := c.committed(ctx, id)
		if err != nil {
			return nil, inRuntime(err)
		}
		for tp := range commits {
			partitions = append(partitions, tp)
		}
	case c.has("topic"):
		named, whole, err := parseTopics(c.topic.All())
		if err != nil {
			return nil, err
		}
		leaders, absent, err := c.leaders(ctx, whole)
		if err != nil {
			return nil, err
		}
		for _, topic := range whole {
			if err := absent[topic]; err != nil {
				return nil, err
			}
		}
		for tp := range leaders {
			named = append(named, tp)
		}
		partitions = named
	case !c.has("from-file"):
		return nil, option.Fail("One of the reset scopes should be defined: --all-topics, --topic.")
	}
	slices.SortFunc(partitions, model.TopicPartition.Compare)
	partitions = slices.Compact(partitions)
	return partitions, c.mustExist(ctx, partitions)
}

// mustExist refuses partitions that are not there or have no leader, all of them at once: half a reset helps nobody.
func (c *command) mustExist(ctx context.Context, partitions []model.TopicPartition) error {
	leaders, absent, err := c.leaders(ctx, topicsOf(partitions))
	if err != nil {
		return err
	}
	var missing, leaderless []model.TopicPartition
	for _, tp := range partitions {
		if err := absent[tp.Topic]; err != nil {
			return inRuntime(err)
		}
		switch leader, ok := leaders[tp]; {
		case !ok:
			missing = append(missing, tp)
		case leader < 0:
			leaderless = append(leaderless, tp)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("The partitions \"%s\" do not exist", named(missing))
	case len(leaderless) > 0:
		return fmt.Errorf("The partitions \"%s\" have no leader", named(leaderless))
	}
	return nil
}

// commit writes offsets as nobody's member: generation -1 and no member id are a simple consumer, which a coordinator
// lets commit to a group only while that is empty.
func (c *command) commit(ctx context.Context, id string, planned map[model.TopicPartition]int64) error {
	partitions := slices.SortedFunc(maps.Keys(planned), model.TopicPartition.Compare)
	// From version 10 on a commit names topics by id.
	topics, err := c.topics(ctx, topicsOf(partitions))
	if err != nil {
		return err
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = id, -1
	numbers := byTopic(partitions)
	for _, described := range topics {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = *described.Topic, described.TopicID
		for _, n := range numbers[t.Topic] {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset = n, planned[model.TopicPartition{Topic: t.Topic, Partition: n}]
			p.Metadata = kmsg.StringPtr("")
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := connection.Ask(ctx, c.client, "alterConsumerGroupOffsets", req.RequestWith)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kafkatext.Answer(p.ErrorCode, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
