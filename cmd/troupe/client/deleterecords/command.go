// Package deleterecords is kafka-delete-records: delete the records of partitions up to given offsets.
//
// Requests: Metadata (3), then DeleteRecords (21) to the leader of each partition. What fails for one partition is told
// in its line, and the command goes on and ends with 0, as the script does.
package deleterecords

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// command takes partitions and offsets from a file alone, as the script does (KIP-107).
type command struct {
	conn connection.Options
	file option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("delete-records", "Delete the records before given offsets", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	option.Var(fs, &c.file, "offset-json-file", "FILE",
		`offsets: {"version": 1, "partitions": [{"topic": "t", "partition": 0, "offset": 5}]}; -1 is the high watermark`)
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "bootstrap-server", "offset-json-file"); err != nil {
		return err
	}
	path, err := c.file.One()
	if err != nil {
		return err
	}
	// The file is read before anything is sent: a mistake in its last line must not follow deletions of the first.
	text, err := os.ReadFile(path)
	if err != nil {
		return option.Fail("Unable to read file %s", path)
	}
	wanted, err := parse(text)
	if err != nil {
		return err
	}
	client, err := c.conn.Open("adminclient-1", s.Err)
	if err != nil {
		return err
	}
	defer client.Close()
	if !option.JSON(fs) {
		fmt.Fprintln(s.Out, "Executing records delete operation")
	}
	results, err := send(ctx, client, wanted)
	if err != nil {
		return err
	}
	return print(fs, s, results)
}

// target is a line of the offsets file.
type target struct {
	tp     model.TopicPartition
	offset int64
}

// result is what became of a partition.
type result struct {
	Topic        string `json:"topic"`
	Partition    int32  `json:"partition"`
	LowWatermark int64  `json:"lowWatermark"`
	Error        string `json:"error,omitempty"`
}

func print(fs *pflag.FlagSet, s option.Streams, results []result) error {
	if option.JSON(fs) {
		return option.WriteJSON(s, results)
	}
	fmt.Fprintln(s.Out, "Records delete operation completed:")
	for _, r := range results {
		if r.Error != "" {
			fmt.Fprintf(s.Out, "partition: %s-%d\terror: %s\n", r.Topic, r.Partition, r.Error)
			continue
		}
		fmt.Fprintf(s.Out, "partition: %s-%d\tlow_watermark: %d\n", r.Topic, r.Partition, r.LowWatermark)
	}
	return nil
}

// send asks the leader of each partition. Results come in the order of the file; the script's
// changes from run to run.
func send(ctx context.Context, client *connection.Client, wanted []target) ([]result, error) {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(client.Timeout.Milliseconds())
	at := map[string]int{}
	for _, w := range wanted {
		i, ok := at[w.tp.Topic]
		if !ok {
			i = len(req.Topics)
			at[w.tp.Topic] = i
			req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: w.tp.Topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions,
			kmsg.DeleteRecordsRequestTopicPartition{Partition: w.tp.Partition, Offset: w.offset})
	}
	found := map[model.TopicPartition]result{}
	err := client.Call(ctx, "deleteRecords", func(ctx context.Context) error {
		for _, shard := range client.RequestSharded(ctx, req) {
			// Nothing was sent to an unreachable broker, so the whole may be tried again: deleting up to an offset twice
			// does what once does.
			if ctx.Err() != nil || connection.Unreachable(shard.Err) {
				return shard.Err
			}
			collect(found, shard.Req, shard.Resp, shard.Err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := []result{}
	for _, w := range wanted {
		results = append(results, found[w.tp])
	}
	return results, nil
}

// collect notes the results of the part of the request that went to one broker, or to none.
func collect(found map[model.TopicPartition]result, asked kmsg.Request, answered kmsg.Response, failed error) {
	// A broker that failed as a whole failed for each partition it was asked about.
	for _, t := range asked.(*kmsg.DeleteRecordsRequest).Topics {
		for _, p := range t.Partitions {
			if failed != nil {
				found[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] =
					result{Topic: t.Topic, Partition: p.Partition, LowWatermark: -1, Error: explain(failed)}
			}
		}
	}
	if failed != nil {
		return
	}
	for _, t := range answered.(*kmsg.DeleteRecordsResponse).Topics {
		for _, p := range t.Partitions {
			r := result{Topic: t.Topic, Partition: p.Partition, LowWatermark: p.LowWatermark}
			if failure, ok := kafkatext.Answer(p.ErrorCode, nil).(*kafkatext.Failure); ok {
				r.Error = failure.Qualified()
			}
			found[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = r
		}
	}
}

// explain gives an error code by its Java class, as the script prints it, and trouble of the connection in its own words.
func explain(err error) string {
	var known *kerr.Error
	if errors.As(err, &known) {
		if failure, ok := kafkatext.Answer(known.Code, nil).(*kafkatext.Failure); ok {
			return failure.Qualified()
		}
	}
	return strings.TrimSpace(err.Error())
}
