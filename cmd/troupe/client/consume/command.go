// Package consume is kafka-console-consumer: records become lines of standard output. A partition is read by itself,
// and all partitions of the topics without a group unless one is named.
//
// Requests: Metadata (3), ListOffsets (2) for where to begin, Fetch (1); with --group also FindCoordinator (10), the
// membership of a classic group (11 to 14), OffsetFetch (9) and OffsetCommit (8).
//
// Standard output has the records alone; the count and all complaints go to standard error.
package consume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
)

// command has old and new names of options side by side (KIP-1147); check and printer refuse both at once.
type command struct {
	bootstrap, topic, include, partition, offset, group option.Text
	formatter, property, oldProperty, formatterFile     option.Text
	keyDeserializer, valueDeserializer                  option.Text
	maxMessages, timeoutMs, isolation                   option.Text
	props                                               connection.ClientProperties

	fs *pflag.FlagSet
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("console-consumer", "Print the records of a partition or of topics", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.topic, "topic", "NAME", "topic to read")
	option.Var(fs, &c.include, "include", "REGEX", "topics to read")
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.partition, "partition", "N", "the only partition to read, from its end unless --offset says otherwise")
	option.Default(fs, &c.offset, "offset", "OFFSET", "latest", "where to begin in --partition: a number, earliest or latest")
	fs.Bool("from-beginning", false, "begin at the earliest record")
	option.Var(fs, &c.maxMessages, "max-messages", "N", "end after so many records")
	option.Var(fs, &c.timeoutMs, "timeout-ms", "MS", "end when no record comes for so long")
	option.Default(fs, &c.isolation, "isolation-level", "LEVEL", "read_uncommitted", "read_uncommitted or read_committed")
	option.Var(fs, &c.property, "formatter-property", "KEY=VALUE", "how records are printed, repeatable: print.timestamp, "+
		"print.key, print.offset, print.partition, print.headers, print.epoch, print.value, key.separator, line.separator, "+
		"headers.separator, null.literal, key.deserializer, value.deserializer, headers.deserializer")
	option.Var(fs, &c.oldProperty, "property", "KEY=VALUE", "old name of --formatter-property")
	option.Var(fs, &c.formatterFile, "formatter-config", "FILE", "property file of formatter properties")
	option.Var(fs, &c.formatter, "formatter", "CLASS", "one of Kafka's: DefaultMessageFormatter, NoOpMessageFormatter, and for the "+
		"records of coordinators OffsetsMessageFormatter, GroupMetadataMessageFormatter, TransactionLogMessageFormatter, ShareGroupStateMessageFormatter")
	option.Var(fs, &c.keyDeserializer, "key-deserializer", "CLASS", "one of Kafka's deserializers")
	option.Var(fs, &c.valueDeserializer, "value-deserializer", "CLASS", "one of Kafka's deserializers")
	option.Var(fs, &c.group, "group", "ID", "consumer group to read as a member of")
	fs.Bool("skip-message-on-error", false, "go on after a record that cannot be printed")
	fs.Bool("enable-systest-events", false, "say when the shutdown is complete")
	c.props.Define(fs, "consumer", "Option")
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	c.fs = fs
	if err := c.check(); err != nil {
		return err
	}
	c.props.Warn(s)
	props, err := c.props.Load()
	if err != nil {
		return err
	}
	groupID, err := c.groupID(props)
	if err != nil {
		return err
	}
	opts, err := c.consumerOptions(props, groupID)
	if err != nil {
		return err
	}
	p, err := c.printer(s)
	if err != nil {
		return err
	}
	bootstrap, err := c.bootstrap.One()
	if err != nil {
		return err
	}
	// Everything the command line can be wrong in is read by now: no connection is opened for a call that must fail.
	client, err := connection.Open(bootstrap, props, "console-consumer", s.Err, opts...)
	if err != nil {
		return option.Fail("Failed to construct kafka consumer: %s", err)
	}
	defer client.Close()
	// Offsets are committed only for a group that was asked for; the script turns commits off for the group it makes up.
	p.client, p.grouped = client.Client, groupID != ""
	p.commits = p.grouped && !strings.EqualFold(props["enable.auto.commit"], "false")
	err = p.run(ctx)
	if fs.Changed("enable-systest-events") {
		fmt.Fprintln(s.Out, "shutdown_complete")
	}
	return err
}

// check refuses combinations of options, in the script's order.
func (c *command) check() error {
	if err := option.OneOf(c.fs, "topic", "include"); err != nil {
		return err
	}
	switch {
	case c.partition.Given() && !c.topic.Given():
		return option.Fail("The topic is required when partition is specified.")
	case c.partition.Given() && c.fs.Changed("from-beginning") && c.offset.Given():
		return option.Fail("Options from-beginning and offset cannot be specified together.")
	case !c.partition.Given() && c.offset.Given():
		return option.Fail("The partition is required when offset is specified.")
	}
	// The script asks for the address after it has judged what is to be read.
	if err := option.Require(c.fs, "bootstrap-server"); err != nil {
		return err
	}
	return c.props.CheckOnce(true)
}

// groupID gives the group named by --group and group.id, which must agree; "" is none.
func (c *command) groupID(props kafkatext.Properties) (string, error) {
	named, err := c.group.One()
	if err != nil {
		return "", err
	}
	property, set := props["group.id"]
	switch {
	case c.group.Given() && set && named != property:
		return "", option.Fail("The group ids provided in different places (directly using '--group', via '--consumer-property', "+
			"or via '--consumer.config') do not match. Detected group ids: '%s', '%s'", named, property)
	case (c.group.Given() || set) && c.partition.Given():
		return "", option.Fail("Options group and partition cannot be specified together.")
	case set:
		return property, nil
	}
	return named, nil
}

// consumerOptions says what is read and from where.
func (c *command) consumerOptions(props kafkatext.Properties, groupID string) ([]kgo.Opt, error) {
	// Kafka's default is the end: a console shows what happens from now on.
	reset := kgo.NewOffset().AtEnd()
	chosen, set := props["auto.offset.reset"]
	switch {
	case c.fs.Changed("from-beginning") && set && chosen != "earliest":
		return nil, option.Fail("Can't simultaneously specify --from-beginning and 'auto.offset.reset=%s', please remove one option", chosen)
	case c.fs.Changed("from-beginning") || chosen == "earliest":
		reset = kgo.NewOffset().AtStart()
	case set && chosen != "latest":
		return nil, option.Fail("Invalid value %s for configuration auto.offset.reset: earliest or latest is expected here", chosen)
	}
	opts := []kgo.Opt{
		// Errors that pass are kept so that they can be told; fetches wait as the Java consumer's do (fetch.max.wait.ms).
		kgo.ConsumeResetOffset(reset), kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.MetadataMinAge(250 * time.Millisecond), kgo.KeepRetryableFetchErrors(),
	}
	// The Java consumer asks for a topic in a way that makes it, even one that was deleted under it.
	if !strings.EqualFold(props["allow.auto.create.topics"], "false") {
		opts = append(opts, kgo.AllowAutoTopicCreation())
	}
	level, err := c.isolation.One()
	if err != nil {
		return nil, err
	}
	if inFile := props["isolation.level"]; inFile != "" && !c.isolation.Given() {
		level = inFile
	}
	switch level {
	case "read_uncommitted":
	case "read_committed":
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	default:
		return nil, option.Fail("Invalid value %s for configuration isolation.level: String must be one of: read_committed, read_uncommitted", level)
	}
	if groupID != "" {
		// The option goes over the property, for the member too: the end it begins at is then the last stable offset.
		props["isolation.level"] = level
		member, err := connection.GroupOptions(props, groupID)
		if err != nil {
			return nil, option.Fail("Failed to construct kafka consumer: %s", err)
		}
		opts = append(opts, member...)
	}
	from, err := c.start()
	if err != nil {
		return nil, err
	}
	topic, err := c.topic.One()
	if err != nil {
		return nil, err
	}
	if c.include.Given() {
		pattern, err := c.include.One()
		// A Java pattern matches the whole name; Go's would match a part of it.
		return append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics("^(?:"+pattern+")$")), err
	}
	if !c.partition.Given() {
		return append(opts, kgo.ConsumeTopics(topic)), nil
	}
	number, err := c.partition.Int(32, 0)
	if err != nil {
		return nil, err
	}
	return append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {int32(number): from}})), nil
}

// start reads --offset; --from-beginning stands for earliest.
func (c *command) start() (kgo.Offset, error) {
	text, err := c.offset.One()
	if err != nil {
		return kgo.Offset{}, err
	}
	if c.fs.Changed("from-beginning") && !c.offset.Given() {
		text = "earliest"
	}
	switch strings.ToLower(text) {
	case "earliest":
		return kgo.NewOffset().AtStart(), nil
	case "latest":
		return kgo.NewOffset().AtEnd(), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return kgo.Offset{}, option.Fail("The provided offset value '%s' is incorrect. Valid values are 'earliest', 'latest', "+
			"or a non-negative long.", text)
	}
	return kgo.NewOffset().At(n), nil
}

// printer makes what prints records, by --formatter and its properties.
func (c *command) printer(s option.Streams) (*printer, error) {
	limit, err := c.maxMessages.Int(32, -1)
	if err != nil {
		return nil, err
	}
	timeout, err := c.timeoutMs.Int(64, -1)
	if err != nil {
		return nil, err
	}
	p := &printer{
		streams: s, limit: limit, skipErrors: c.fs.Changed("skip-message-on-error"), json: option.JSON(c.fs),
		line: progress.On(s.Err, s.Out, true),
	}
	// More milliseconds than a duration holds are as good as no limit.
	if timeout >= 0 && timeout < math.MaxInt64/int64(time.Millisecond) {
		p.timeout, p.limited = time.Duration(timeout)*time.Millisecond, true
	}
	class, err := c.formatter.One()
	if err != nil {
		return nil, err
	}
	// Classes are known by their simple names, since 4.0 moved them between packages.
	name := class[strings.LastIndexByte(class, '.')+1:]
	coordinated, ofCoordinator := coordinatorFormatters[name]
	switch {
	case name == "" || name == "DefaultMessageFormatter" || ofCoordinator:
	case name == "NoOpMessageFormatter":
		p.quiet = true
	default:
		known := append(slices.Sorted(maps.Keys(coordinatorFormatters)), "DefaultMessageFormatter", "NoOpMessageFormatter")
		return nil, option.Fail("Formatter %s is not available: only %s are.", class, strings.Join(known, ", "))
	}
	if c.property.Given() && c.oldProperty.Given() {
		return nil, option.Fail("Options --property and --formatter-property cannot be specified together.")
	}
	if c.oldProperty.Given() {
		fmt.Fprintln(s.Out, "Option --property is deprecated and will be removed in a future version. Use --formatter-property instead.")
	}
	props, err := c.formatterProperties()
	if err != nil {
		return nil, err
	}
	if ofCoordinator { // properties mean nothing to these
		p.formatter = coordinated
		return p, nil
	}
	p.formatter, err = newFormatter(props)
	return p, err
}

// formatterProperties merges in the script's order: the file, then the deserializers' own options, then single pairs.
func (c *command) formatterProperties() (kafkatext.Properties, error) {
	props := kafkatext.Properties{}
	path, err := c.formatterFile.One()
	if err != nil {
		return nil, err
	}
	if path != "" {
		if props, err = kafkatext.Load(path); err != nil {
			return nil, err
		}
	}
	key, keyErr := c.keyDeserializer.One()
	value, valueErr := c.valueDeserializer.One()
	if err := errors.Join(keyErr, valueErr); err != nil {
		return nil, err
	}
	for name, class := range map[string]string{"key.deserializer": key, "value.deserializer": value} {
		if class != "" {
			props[name] = class
		}
	}
	props.Merge(kafkatext.Pairs(c.property.All()))
	props.Merge(kafkatext.Pairs(c.oldProperty.All()))
	return props, nil
}
