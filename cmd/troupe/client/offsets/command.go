// Package offsets is kafka-get-offsets: offsets of partitions by time.
//
// Requests: Metadata (3) for the partitions, then ListOffsets (2) to the leader of each.
//
// The output is topic:partition:offset, a line for each partition that has such an offset.
package offsets

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// command selects partitions in two ways that exclude one another: one pattern for both (KIP-635), or topics and numbers.
type command struct {
	conn                                     connection.Options
	topicPartitions, topic, partitions, spec option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("get-offsets", "Show offsets of partitions by time", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	option.Var(fs, &c.topicPartitions, "topic-partitions", "LIST",
		"patterns of topic and partitions: topic:1, topic:0-3 (3 left out), topic:5-, :2")
	option.Var(fs, &c.topic, "topic", "NAME", "topic, or a regular expression; all when left out")
	option.Var(fs, &c.partitions, "partitions", "0,1,...", "partitions; all when left out")
	option.Default(fs, &c.spec, "time", "TIME", "latest", "a timestamp in ms, -1 latest, -2 earliest, "+
		"-3 max-timestamp, -4 earliest-local, -5 latest-tiered or -6 earliest-pending-upload")
	fs.Bool("exclude-internal-topics", false, "leave out internal topics")
}

// Complain implements option.Complainer: every complaint of the script begins alike.
func (c *command) Complain(err error) error {
	return option.Fail("Error occurred: %s", option.Error(err))
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "bootstrap-server"); err != nil {
		return err
	}
	bootstrap, err := c.conn.Bootstrap.One()
	if err != nil {
		return option.Fail("Error occurred: %s", err)
	}
	if err := connection.CheckAddresses(bootstrap); err != nil {
		return err
	}
	// The script wraps whatever happens behind this point in the same words.
	found, err := c.fetch(ctx, fs, s)
	if err != nil {
		return option.Fail("Error occurred: %s", err)
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, found)
	}
	for _, p := range found {
		fmt.Fprintf(s.Out, "%s:%d:%d\n", p.Topic, p.Partition, p.Offset)
	}
	return nil
}

// position is a line of the output.
type position struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (c *command) fetch(ctx context.Context, fs *pflag.FlagSet, s option.Streams) ([]position, error) {
	if c.topicPartitions.Given() && (c.topic.Given() || c.partitions.Given()) {
		return nil, errors.New("--topic-partitions cannot be used with --topic or --partitions")
	}
	text, err := c.spec.One()
	if err != nil {
		return nil, err
	}
	timestamp, err := parseTime(text)
	if err != nil {
		return nil, err
	}
	filter, err := c.filter()
	if err != nil {
		return nil, err
	}
	client, err := c.conn.Open("GetOffsetShell", s.Err)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	meta, err := connection.Ask(ctx, client, "listTopics", kmsg.NewPtrMetadataRequest().RequestWith)
	if err != nil {
		return nil, err
	}
	var wanted []model.TopicPartition
	for _, t := range meta.Topics {
		if t.IsInternal && fs.Changed("exclude-internal-topics") {
			continue
		}
		for _, p := range t.Partitions {
			if tp := (model.TopicPartition{Topic: *t.Topic, Partition: p.Partition}); filter(tp) {
				wanted = append(wanted, tp)
			}
		}
	}
	if len(wanted) == 0 {
		return nil, errors.New("Could not match any topic-partitions with the specified filters")
	}
	return list(ctx, client, wanted, timestamp, s)
}

// list asks the leaders. A partition that fails is reported on standard error and left out, as is one without an answer.
func list(ctx context.Context, client *connection.Client, wanted []model.TopicPartition, timestamp int64, s option.Streams) ([]position, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	// A client and no replica: offsets up to the high watermark only.
	req.ReplicaID = -1
	req.TimeoutMillis = int32(client.Timeout.Milliseconds())
	at := map[string]int{}
	for _, tp := range wanted {
		i, ok := at[tp.Topic]
		if !ok {
			i = len(req.Topics)
			at[tp.Topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = tp.Partition, timestamp
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	resp, err := connection.Ask(ctx, client, "listOffsets", req.RequestWith)
	if err != nil {
		return nil, err
	}
	found := []position{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kafkatext.Answer(p.ErrorCode, nil); err != nil {
				var failure *kafkatext.Failure
				errors.As(err, &failure)
				fmt.Fprintf(s.Err, "Skip getting offsets for topic-partition %s-%d due to error: %s\n",
					t.Topic, p.Partition, failure.Qualified())
				continue
			}
			if p.Offset != int64(model.NoOffset) {
				found = append(found, position{t.Topic, p.Partition, p.Offset})
			}
		}
	}
	name := func(p position) string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }
	sort.Slice(found, func(i, j int) bool { return name(found[i]) < name(found[j]) })
	return found, nil
}
