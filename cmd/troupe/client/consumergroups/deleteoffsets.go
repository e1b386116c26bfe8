package consumergroups

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// noPartition stands for the number where a topic as a whole has failed.
const noPartition = -1

// deleteOffsets deletes what a group has committed for partitions (KIP-496), as long as no member reads their topics.
func (c *command) deleteOffsets(ctx context.Context) error {
	id, err := c.group.One()
	if err != nil {
		return err
	}
	partitions, results, err := c.toDelete(ctx)
	if err != nil {
		return err
	}
	code, err := c.sendDeletion(ctx, id, partitions, results)
	if err != nil {
		return inFuture(err)
	}
	if option.JSON(c.fs) {
		return c.writeDeletions(id, results)
	}
	switch code {
	case kerr.None:
		fmt.Fprintf(c.streams.Out, "Request succeeded for deleting offsets from group %s.\n", id)
	case kerr.InvalidGroupID, kerr.GroupIDNotFound, kerr.GroupAuthorizationFailed, kerr.NonEmptyGroup:
		err = c.complain(kafkatext.Answer(int16(code), nil).Error())
	case kerr.GroupSubscribedToTopic, kerr.TopicAuthorizationFailed, kerr.UnknownTopicOrPartition:
		err = c.complain("Encountered some partition-level error, see the follow-up details.")
	default:
		err = c.complain("Encountered some unknown error: " + code.Name())
	}
	printDeletions(c.streams.Out, results)
	return err
}

// outcomes are errors of partitions; nil is one whose offset was deleted.
type outcomes map[model.TopicPartition]error

// toDelete reads --topic. A topic that is not there is an outcome already, and the rest goes on.
func (c *command) toDelete(ctx context.Context) ([]model.TopicPartition, outcomes, error) {
	partitions, whole, err := parseTopics(c.topic.All())
	if err != nil {
		return nil, nil, err
	}
	leaders, absent, err := c.leaders(ctx, whole)
	if err != nil {
		return nil, nil, inFuture(err)
	}
	results := outcomes{}
	for topic, err := range absent {
		results[model.TopicPartition{Topic: topic, Partition: noPartition}] = err
	}
	for tp := range leaders {
		partitions = append(partitions, tp)
	}
	slices.SortFunc(partitions, model.TopicPartition.Compare)
	return slices.Compact(partitions), results, nil
}

// sendDeletion notes what became of each partition, and gives the code of the whole: the group's, or that of the first
// partition that has one. Nothing to delete is a success, as for the script.
func (c *command) sendDeletion(ctx context.Context, id string, partitions []model.TopicPartition, results outcomes) (kerr.Code, error) {
	if len(partitions) == 0 {
		return kerr.None, nil
	}
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = id
	for topic, numbers := range byTopic(partitions) {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = topic
		for _, n := range numbers {
			t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: n})
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := connection.Ask(ctx, c.client, "deleteConsumerGroupOffsets", req.RequestWith)
	if err != nil {
		return kerr.None, err
	}
	whole := kerr.Code(resp.ErrorCode)
	// A refusal of the group as a whole names no partition and holds for each.
	for _, tp := range partitions {
		results[tp] = kafkatext.Answer(resp.ErrorCode, nil)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			results[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = kafkatext.Answer(p.ErrorCode, nil)
			if whole == kerr.None {
				whole = kerr.Code(p.ErrorCode)
			}
		}
	}
	return whole, nil
}

// sorted is the script's order: by topic and number written together, so that 10 comes before 2.
func (o outcomes) sorted() []model.TopicPartition {
	var all []model.TopicPartition
	for tp := range o {
		all = append(all, tp)
	}
	text := func(tp model.TopicPartition) string { return tp.Topic + strconv.Itoa(int(tp.Partition)) }
	slices.SortFunc(all, func(a, b model.TopicPartition) int { return cmp.Compare(text(a), text(b)) })
	return all
}

func (c *command) writeDeletions(id string, results outcomes) error {
	all := []deletion{}
	for _, tp := range results.sorted() {
		d := deletion{Group: id, Topic: tp.Topic}
		if tp.Partition != noPartition {
			d.Partition = &tp.Partition
		}
		if err := results[tp]; err != nil {
			d.Error = inFuture(err).Error()
		}
		all = append(all, d)
	}
	return option.WriteJSON(c.streams, all)
}

// printDeletions prints each partition by itself, since some may fail alone:
//
//	TOPIC   PARTITION  STATUS
//	orders  0          Successful
//	absent  -          Error: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: …
func printDeletions(out io.Writer, results outcomes) {
	width := leastWidth
	for tp := range results {
		width = max(width, len(tp.Topic))
	}
	fmt.Fprintf(out, "\n%-*s %-10s %-15s", width, "TOPIC", "PARTITION", "STATUS")
	for _, tp := range results.sorted() {
		number, status := strconv.Itoa(int(tp.Partition)), "Successful"
		if tp.Partition == noPartition {
			number = "-"
		}
		if err := results[tp]; err != nil {
			status = "Error: " + inFuture(err).Error()
		}
		fmt.Fprintf(out, "\n%-*s %-10s %-15s", width, tp.Topic, number, status)
	}
	fmt.Fprintln(out)
}

// parseTopics reads --topic: names of whole topics, and "topic:0,1".
func parseTopics(args []string) (partitions []model.TopicPartition, whole []string, err error) {
	for _, arg := range args {
		if !strings.Contains(arg, ":") {
			whole = append(whole, arg)
			continue
		}
		topic, numbers, _ := strings.Cut(arg, ":")
		if numbers == "" || strings.Contains(strings.TrimRight(numbers, ":"), ":") {
			return nil, nil, option.Fail("Invalid topic arg '%s', expected topic name and partitions", arg)
		}
		for _, text := range strings.Split(strings.TrimRight(numbers, ":"), ",") {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return nil, nil, option.Fail("Invalid partition '%s' specified in topic arg '%s''", text, arg)
			}
			partitions = append(partitions, model.TopicPartition{Topic: topic, Partition: int32(n)})
		}
	}
	return partitions, whole, nil
}
