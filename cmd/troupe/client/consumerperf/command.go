// Package consumerperf is kafka-consumer-perf-test: how fast a member of a group reads topics.
//
// Requests: those of a member of a classic group, FindCoordinator (10), JoinGroup to SyncGroup (11 to 14), OffsetFetch (9)
// and OffsetCommit (8); then Fetch (1).
//
// The figures are the script's: megabytes are of 2^20 bytes of keys and values, without what is round them on the wire.
package consumerperf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
)

type command struct {
	bootstrap, topic, include, group  option.Text
	records, oldRecords, fetchSize    option.Text
	socketBuffer, timeoutMs, interval option.Text
	dateFormat                        option.Text
	config, oldConfig, property       option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("consumer-perf-test", "Measure how fast topics can be consumed", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.topic, "topic", "NAME", "topic to read")
	option.Var(fs, &c.include, "include", "REGEX", "topics to read")
	option.Var(fs, &c.records, "num-records", "N", "number of records")
	option.Var(fs, &c.oldRecords, "messages", "N", "old name of --num-records")
	// A group of its own each time: one that has read the topic would find nothing left.
	option.Default(fs, &c.group, "group", "ID", fmt.Sprintf("perf-consumer-%d", rand.IntN(100_000)), "consumer group to read as a member of")
	fs.Bool("from-latest", false, "a group without offsets begins at the end and not at the beginning")
	// The bound is on one partition; all of a fetch is bounded by the client, at 50 MiB as in the Java consumer.
	option.Default(fs, &c.fetchSize, "fetch-size", "BYTES", "1048576", "most bytes of a partition in one fetch")
	option.Default(fs, &c.timeoutMs, "timeout", "MS", "10000", "end when no record comes for so long")
	option.Default(fs, &c.interval, "reporting-interval", "MS", "5000", "time between lines of --show-detailed-stats")
	fs.Bool("show-detailed-stats", false, "a line each interval instead of one for the whole")
	fs.Bool("hide-header", false, "print figures only")
	option.Default(fs, &c.dateFormat, "date-format", "PATTERN", "yyyy-MM-dd HH:mm:ss:SSS", "how times are written, as java.text.SimpleDateFormat")
	option.Default(fs, &c.socketBuffer, "socket-buffer-size", "BYTES", "2097152", "accepted; the system sizes the buffer itself")
	fs.Bool("print-metrics", false, "accepted; this client keeps no metrics of the Java client's names")
	option.Var(fs, &c.config, "command-config", "FILE", "property file for the consumer")
	option.Var(fs, &c.oldConfig, "consumer.config", "FILE", "old name of --command-config")
	option.Var(fs, &c.property, "command-property", "KEY=VALUE", "consumer property, repeatable; goes over the file")
}

// plan is the command line as read.
type plan struct {
	bootstrap string
	props     kafkatext.Properties
	options   []kgo.Opt
	records   int64
	timeoutMs int64
	interval  int64
	detailed  bool
	header    bool
	json      bool
	date      func(time.Time) string
	progress  *progress.Line
}

// Run reads options, then consumes. A group takes as long to form as the broker waits for members
// (group.initial.rebalance.delay.ms), which is why rebalancing stands apart from fetching in the figures.
func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := c.check(fs, s); err != nil {
		return err
	}
	p := &plan{
		detailed: fs.Changed("show-detailed-stats"), json: option.JSON(fs),
		header: !fs.Changed("hide-header") && !option.JSON(fs), progress: progress.On(s.Err, s.Out, false),
	}
	// The script prints its header before it reads the values of options, so a bad one is told below it.
	if p.header {
		fmt.Fprintln(s.Out, header(p.detailed))
	}
	if err := c.read(fs, p); err != nil {
		return option.Fail("%s", err)
	}
	return p.run(ctx, s)
}

// check refuses what the script refuses, in its order.
func (c *command) check(fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "bootstrap-server"); err != nil {
		return err
	}
	if err := option.OneOf(fs, "topic", "include"); err != nil {
		return err
	}
	if err := option.OneOf(fs, "messages", "num-records"); err != nil {
		return err
	}
	if err := option.Exclude(fs, "consumer.config", "command-config"); err != nil {
		return err
	}
	// Told on standard output, as the script tells it, before the header (KIP-1147).
	if c.oldRecords.Given() {
		fmt.Fprintln(s.Out, "Warning: --messages is deprecated. Use --num-records instead.")
	}
	if c.oldConfig.Given() {
		fmt.Fprintln(s.Out, "Warning: --consumer.config is deprecated. Use --command-config instead.")
	}
	return nil
}

// read converts what is text on the command line. Values that cannot be converted are errors of their own, since the
// script comes to them one by one.
func (c *command) read(fs *pflag.FlagSet, p *plan) error {
	var fetchSize, socketBuffer int64
	for _, n := range []struct {
		text *option.Text
		bits int
		to   *int64
	}{
		{&c.records, 64, &p.records}, {&c.oldRecords, 64, &p.records}, {&c.timeoutMs, 64, &p.timeoutMs},
		{&c.interval, 64, &p.interval}, {&c.fetchSize, 32, &fetchSize}, {&c.socketBuffer, 32, &socketBuffer},
	} {
		v, err := n.text.Int(n.bits, *n.to)
		if err != nil {
			return err
		}
		*n.to = v
	}
	if p.interval <= 0 {
		return errors.New("Reporting interval must be greater than 0.")
	}
	pattern, err := c.dateFormat.One()
	if err != nil {
		return err
	}
	if p.date, err = dateFormat(pattern); err != nil {
		return err
	}
	p.props = kafkatext.Properties{}
	if path := c.config.Last() + c.oldConfig.Last(); path != "" {
		if p.props, err = kafkatext.Load(path); err != nil {
			return err
		}
	}
	p.props.Merge(kafkatext.Pairs(c.property.All()))
	if p.bootstrap, err = c.bootstrap.One(); err != nil {
		return err
	}
	p.options, err = c.consumer(fs, p.props, int32(fetchSize))
	return err
}

// consumer makes the options of the client. The options of the command go over properties, as in the script.
func (c *command) consumer(fs *pflag.FlagSet, props kafkatext.Properties, fetchSize int32) ([]kgo.Opt, error) {
	group, err := c.group.One()
	if err != nil {
		return nil, err
	}
	opts, err := connection.GroupOptions(props, group)
	if err != nil {
		return nil, err
	}
	reset := kgo.NewOffset().AtStart()
	if fs.Changed("from-latest") {
		reset = kgo.NewOffset().AtEnd()
	}
	topic, topicErr := c.topic.One()
	include, includeErr := c.include.One()
	if err := errors.Join(topicErr, includeErr); err != nil {
		return nil, err
	}
	if c.include.Given() {
		// A Java pattern matches the whole name; Go's would match a part of it.
		topic = "^(?:" + include + ")$"
		opts = append(opts, kgo.ConsumeRegex())
	}
	return append(opts, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(reset), kgo.FetchMaxPartitionBytes(fetchSize),
		// As the Java consumer: fetch.max.wait.ms, and checksums that the script turns off.
		kgo.FetchMaxWait(500*time.Millisecond), kgo.DisableFetchCRCValidation()), nil
}
