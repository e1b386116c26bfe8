// Package produce is kafka-console-producer: lines of standard input become records.
//
// Requests: Metadata (3), InitProducerId (22) unless acks forbid idempotence, Produce (0).
//
// Unlike the script it ends with 1 when a record was lost: what calls it must not take the records for stored.
package produce

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
)

// command keeps options by their place in the script: several are old ways to set a property of the producer.
type command struct {
	bootstrap, topic, codec, reader        option.Text
	property, oldProperty, propertyFile    option.Text
	props                                  connection.ClientProperties
	merged                                 []merge
	batchSize, partitionMemory, maxRetries option.Text
	backoff, linger, acks, requestTimeout  option.Text
	metadataAge, maxBlock, memory, socket  option.Text
}

// merge is an option that stands for a producer property. Its default yields to the property.
type merge struct {
	key  string
	text *option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("console-producer", "Send lines of standard input as records", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.topic, "topic", "NAME", "topic to send to")
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	fs.Bool("sync", false, "send records one by one, waiting for each")
	option.Optional(fs, &c.codec, "compression-codec", "CODEC", "gzip", "none, gzip, snappy, lz4 or zstd; gzip when it has no value")
	option.Var(fs, &c.reader, "line-reader", "CLASS", "only Kafka's LineMessageReader")
	option.Var(fs, &c.property, "reader-property", "KEY=VALUE", "how lines are read, repeatable: parse.key, parse.headers, "+
		"ignore.error, key.separator, headers.delimiter, headers.separator, headers.key.separator, null.marker")
	option.Var(fs, &c.oldProperty, "property", "KEY=VALUE", "old name of --reader-property")
	option.Var(fs, &c.propertyFile, "reader-config", "FILE", "property file of reader properties")
	c.props.Define(fs, "producer", "Warning:")
	for _, m := range []struct {
		text                  *option.Text
		name, key, def, usage string
	}{
		{&c.linger, "timeout", "linger.ms", "1000", "most ms a record waits for its batch"},
		{&c.acks, "request-required-acks", "acks", "-1", "acknowledgements: 0, 1 or all"},
		{&c.requestTimeout, "request-timeout-ms", "request.timeout.ms", "1500", "ms the brokers may take to acknowledge"},
		{&c.maxRetries, "message-send-max-retries", "retries", "3", "attempts after the first"},
		{&c.backoff, "retry-backoff-ms", "retry.backoff.ms", "100", "ms before an attempt"},
		{&c.socket, "socket-buffer-size", "send.buffer.bytes", "102400", "left to the system"},
		{&c.memory, "max-memory-bytes", "buffer.memory", "33554432", "bytes of records that may wait"},
		{&c.batchSize, "batch-size", "batch.size", "16384", "bytes of a batch"},
		{&c.partitionMemory, "max-partition-memory-bytes", "batch.size", "16384", "old name of --batch-size"},
		{&c.metadataAge, "metadata-expiry-ms", "metadata.max.age.ms", "300000", "ms after which metadata is asked for again"},
		{&c.maxBlock, "max-block-ms", "max.block.ms", "60000", "ms to wait for a topic that is not there"},
	} {
		option.Default(fs, m.text, m.name, "N", m.def, m.usage)
		c.merged = append(c.merged, merge{m.key, m.text})
	}
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := c.check(fs, s); err != nil {
		return err
	}
	lines, err := c.lines(s)
	if err != nil {
		return err
	}
	props, err := c.properties(fs)
	if err != nil {
		return err
	}
	opts, err := connection.ProducerOptions(props)
	if err != nil {
		return option.Fail("Failed to construct kafka producer: %s", err)
	}
	bootstrap, err := c.bootstrap.One()
	if err != nil {
		return err
	}
	client, err := connection.Open(bootstrap, props, "console-producer", s.Err, opts...)
	if err != nil {
		return option.Fail("Failed to construct kafka producer: %s", err)
	}
	defer client.Close()
	topic, err := c.topic.One()
	if err != nil {
		return err
	}
	blockFor, err := connection.Milliseconds(props, "max.block.ms", time.Minute)
	if err != nil {
		return err
	}
	out := &sender{client: client, topic: topic, maxBlock: blockFor, errs: s.Err}
	if fs.Changed("sync") {
		err = out.one(ctx, lines)
	} else {
		err = out.all(ctx, lines)
	}
	if err == nil && option.JSON(fs) {
		return option.WriteJSON(s, map[string]any{"topic": topic, "sent": out.sent.Load()})
	}
	return err
}

// check refuses what the script refuses, and warns of old names.
func (c *command) check(fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "topic"); err != nil {
		return err
	}
	if err := c.props.CheckOnce(false); err != nil {
		return err
	}
	if c.property.Given() && c.oldProperty.Given() {
		return option.Fail("Options --reader-property and --property cannot be specified together.")
	}
	c.props.Warn(s)
	if c.oldProperty.Given() {
		fmt.Fprintln(s.Out, "Warning: --property is deprecated and will be removed in a future version. Use --reader-property instead.")
	}
	if c.partitionMemory.Given() {
		fmt.Fprintln(s.Out, "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. Use --batch-size instead.")
	}
	bootstrap, err := c.bootstrap.One()
	if err != nil {
		return err
	}
	return connection.CheckAddresses(bootstrap)
}

const lineMessageReader = "org.apache.kafka.tools.LineMessageReader"

// lines opens the reader of standard input with its properties.
func (c *command) lines(s option.Streams) (*lineReader, error) {
	class, err := c.reader.One()
	if err != nil {
		return nil, err
	}
	// A class can be loaded in Java only.
	if class != "" && class != lineMessageReader {
		return nil, option.Fail("java.lang.ClassNotFoundException: %s", class)
	}
	props := kafkatext.Properties{}
	path, err := c.propertyFile.One()
	if err != nil {
		return nil, err
	}
	if path != "" {
		if props, err = kafkatext.Load(path); err != nil {
			return nil, err
		}
	}
	props.Merge(kafkatext.Pairs(c.property.All()))
	props.Merge(kafkatext.Pairs(c.oldProperty.All()))
	return newLineReader(props, s.In, prompt(s))
}

// prompt writes ">" before each line when a person is typing: a pipe must get no prompts between its lines.
func prompt(s option.Streams) func() {
	if !progress.Terminal(s.In) || !progress.Terminal(s.Out) {
		return func() {}
	}
	return func() { io.WriteString(s.Out, ">") }
}

// properties merges the options over the properties of the producer.
func (c *command) properties(fs *pflag.FlagSet) (kafkatext.Properties, error) {
	props, err := c.props.Load()
	if err != nil {
		return nil, err
	}
	codec, err := c.codec.One()
	if err != nil {
		return nil, err
	}
	// Without --compression-codec this is "none" even if the property says otherwise: so does the script.
	props["compression.type"] = codec
	for _, m := range c.merged {
		if _, set := props[m.key]; set && !m.text.Given() {
			continue
		}
		value, err := m.text.One()
		if err != nil {
			return nil, err
		}
		// Numbers are checked here, where the option can still be named.
		if m.key != "acks" {
			if _, err := m.text.Int(64, 0); err != nil {
				return nil, err
			}
		}
		props[m.key] = value
	}
	if fs.Changed("sync") && !c.linger.Given() {
		props["linger.ms"] = strconv.Itoa(0) // nothing else is coming that a batch could wait for
	}
	return props, nil
}
