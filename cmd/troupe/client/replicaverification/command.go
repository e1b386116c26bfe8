// Package replicaverification is kafka-replica-verification: it reads every replica of some topics and compares what they
// hold, up to the high watermark, until it is stopped.
//
// Requests: Metadata (3), ListOffsets (2), and Fetch (1) of every replica under the id of a debugging consumer.
package replicaverification

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

type command struct{ servers, size, wait, topics, begin, every option.Text }

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("replica-verification", "Compare the replicas of partitions until it is stopped", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.servers, "broker-list", "HOST:PORT,...", "brokers to connect to first")
	option.Default(fs, &c.size, "fetch-size", "BYTES", "1048576", "most bytes of a partition that are compared at once")
	option.Default(fs, &c.wait, "max-wait-ms", "MS", "1000", "how long a broker may wait for new records")
	option.Default(fs, &c.topics, "topics-include", "REGEX", ".*", "topics to compare")
	option.Default(fs, &c.begin, "time", "MS", "-1", "where to begin: a time, -1 at the end or -2 at the beginning")
	option.Default(fs, &c.every, "report-interval-ms", "MS", "30000", "how often to tell how far it is")
}

// orders are the command line as read.
type orders struct {
	topics    *regexp.Regexp
	size      int32
	wait      time.Duration
	begin     int64 // as ListOffsets has it
	every     time.Duration
	jsonLines bool
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "broker-list"); err != nil {
		return err
	}
	o, err := c.orders(fs)
	if err != nil {
		return err
	}
	client, err := connection.Open(c.servers.Last(), kafkatext.Properties{}, "adminclient-1", s.Err)
	if err != nil {
		return err
	}
	defer client.Close()
	found, err := assignment.Read(ctx, client, nil)
	if err != nil {
		return err
	}
	v := newVerification(client, o, s, found)
	if len(v.partitions) == 0 {
		return option.Fail("No topics found. [topics-include] if specified, is either filtering out all topics or there is no topic.")
	}
	if err := v.seek(ctx); err != nil {
		return err
	}
	v.told = time.Now()
	v.say(line{Text: "verification process is started"})
	for ctx.Err() == nil {
		if err := v.round(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (c *command) orders(fs *pflag.FlagSet) (*orders, error) {
	o := &orders{jsonLines: option.JSON(fs)}
	var numbers [4]int64
	for i, t := range []*option.Text{&c.size, &c.wait, &c.begin, &c.every} {
		bits := 64
		if i < 2 {
			bits = 32
		}
		var err error
		if numbers[i], err = t.Int(bits, 0); err != nil {
			return nil, err
		}
	}
	o.size, o.wait = int32(numbers[0]), time.Duration(numbers[1])*time.Millisecond
	o.begin, o.every = numbers[2], time.Duration(numbers[3])*time.Millisecond
	text, err := c.topics.One()
	if err != nil {
		return nil, err
	}
	if o.topics, err = regexp.Compile("^(?:" + text + ")$"); err != nil {
		return nil, fmt.Errorf("%s is an invalid regex", text)
	}
	return o, nil
}
