// Package perf is kafka-producer-perf-test: how fast a topic can be produced to.
//
// Requests: Metadata (3), InitProducerId (22), Produce (0); in transactions also FindCoordinator (10),
// AddPartitionsToTxn (24) where the cluster needs it (KIP-890), and EndTxn (26).
//
// The figures are the script's: latency is from handing a record over to its acknowledgement, in whole ms, so it holds
// the time a record waits for its batch.
package perf

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// script begins each complaint: argparse prints the name of the program.
const script = "kafka-producer-perf-test"

func misuse(format string, args ...any) error { return option.Misuse(script, format, args...) }

type command struct {
	bootstrap, topic, records, throughput    option.Text
	recordSize, payloadFile, delimiter       option.Text
	property, oldProperty, config, oldConfig option.Text
	transactionalID, transactionMs           option.Text
	warmup, interval                         option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("producer-perf-test", "Measure how fast a topic can be produced to", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.topic, "topic", "NAME", "topic to produce to")
	option.Var(fs, &c.records, "num-records", "N", "number of records")
	option.Var(fs, &c.throughput, "throughput", "N", "records a second, roughly; -1 is no limit")
	option.Var(fs, &c.recordSize, "record-size", "BYTES", "size of random records")
	option.Var(fs, &c.payloadFile, "payload-file", "FILE", "file to draw records from")
	fs.Bool("payload-monotonic", false, "records are rising numbers")
	option.Default(fs, &c.delimiter, "payload-delimiter", "REGEX", `\n`, "what ends a record in --payload-file")
	option.Var(fs, &c.property, "command-property", "KEY=VALUE…", "producer properties; over the file's")
	option.Var(fs, &c.config, "command-config", "FILE", "property file for the producer")
	option.Var(fs, &c.oldProperty, "producer-props", "KEY=VALUE…", "old name of --command-property")
	option.Var(fs, &c.oldConfig, "producer.config", "FILE", "old name of --command-config")
	option.Var(fs, &c.transactionalID, "transactional-id", "ID", "send in transactions")
	option.Var(fs, &c.transactionMs, "transaction-duration-ms", "MS", "commit a transaction after so long; 3000 when only an id is given")
	option.Default(fs, &c.warmup, "warmup-records", "N", "0", "first records to leave out of a second summary")
	option.Default(fs, &c.interval, "reporting-interval", "MS", "5000", "time between progress lines")
	fs.Bool("print-metrics", false, "accepted; this client keeps no metrics of the Java client's names")
}

// Complain implements option.Complainer.
func (c *command) Complain(err error) error { return misuse("%s", option.ArgumentError(err)) }

// plan is the command line as read.
type plan struct {
	topic           string
	records, warmup int64
	throughput      float64
	intervalMs      int64
	transactionMs   int64 // 0: no transactions
	props           kafkatext.Properties
	bootstrap       string
	payload         payload
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	p, err := c.plan(fs, s)
	if err != nil {
		return err
	}
	return p.run(ctx, fs, s)
}

// plan reads everything before a client is made: a run of minutes must not end in a typing error.
func (c *command) plan(fs *pflag.FlagSet, s option.Streams) (*plan, error) {
	// argparse checks what is required before it converts anything.
	for _, name := range []string{"topic", "num-records", "throughput"} {
		if !fs.Changed(name) {
			return nil, misuse("argument --%s is required", name)
		}
	}
	p := &plan{topic: c.topic.Last(), bootstrap: c.bootstrap.Last()}
	var size, transaction int64
	for _, n := range []struct {
		text  *option.Text
		name  string
		class string
		bits  int
		to    *int64
	}{
		{&c.records, "num-records", "Long", 64, &p.records}, {&c.warmup, "warmup-records", "Long", 64, &p.warmup},
		{&c.recordSize, "record-size", "Integer", 32, &size}, {&c.interval, "reporting-interval", "Long", 64, &p.intervalMs},
		{&c.transactionMs, "transaction-duration-ms", "Long", 64, &transaction},
	} {
		text := n.text.Last()
		// Absent, and without a default: the zero stands.
		if text == "" && !n.text.Given() {
			continue
		}
		v, err := strconv.ParseInt(text, 10, n.bits)
		if err != nil {
			return nil, misuse("argument --%s: could not convert '%s' to %s (For input string: %q)", n.name, text, n.class, text)
		}
		*n.to = v
	}
	var err error
	if p.throughput, err = strconv.ParseFloat(c.throughput.Last(), 64); err != nil {
		return nil, misuse("argument --throughput: could not convert '%s' to Double (For input string: %q)", c.throughput.Last(), c.throughput.Last())
	}
	p.warmup, p.transactionMs = max(p.warmup, 0), transaction
	if err := c.check(fs, p, size); err != nil {
		return nil, err
	}
	if p.payload, err = c.payload(s, size); err != nil {
		return nil, err
	}
	return p, c.properties(fs, s, p)
}

// check refuses what the script refuses, in its order.
func (c *command) check(fs *pflag.FlagSet, p *plan, size int64) error {
	kinds := []string{"record-size", "payload-file", "payload-monotonic"}
	var given []string
	for _, k := range kinds {
		if fs.Changed(k) {
			given = append(given, k)
		}
	}
	switch {
	case len(given) == 0:
		return misuse("one of the arguments --record-size --payload-file --payload-monotonic is required")
	case len(given) > 1:
		return misuse("argument --%s: not allowed with argument --%s", given[1], given[0])
	case p.records <= 0:
		return misuse("--num-records should be greater than zero.")
	case p.warmup >= p.records:
		return misuse("The value for --warmup-records must be strictly fewer than the number of records in the test, --num-records.")
	case c.recordSize.Given() && size <= 0:
		return misuse("--record-size should be greater than zero.")
	case option.Count(fs, "bootstrap-server", "command-property", "producer-props", "producer.config", "command-config") == 0:
		return misuse("At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or --command-config must be specified.")
	case option.Count(fs, "command-property", "producer-props") == 2:
		return misuse("--command-property and --producer-props cannot be specified together.")
	case option.Count(fs, "command-config", "producer.config") == 2:
		return misuse("--command-config and --producer.config cannot be specified together.")
	case c.transactionMs.Given() && p.transactionMs <= 0:
		return misuse("--transaction-duration-ms should be greater than zero.")
	case p.intervalMs <= 0:
		return misuse("--reporting-interval should be greater than zero.")
	}
	return nil
}

// defaultTransactionMs is the duration of a transaction when only an id is given.
const defaultTransactionMs = 3000

// properties reads the producer's properties. Several may follow one option: those pflag leaves as arguments.
func (c *command) properties(fs *pflag.FlagSet, s option.Streams, p *plan) error {
	// Told on standard output, as the script tells it, before the figures.
	if c.oldProperty.Given() {
		s.Deprecated("producer-props", "command-property")
	}
	if c.oldConfig.Given() {
		s.Deprecated("producer.config", "command-config")
	}
	p.props = kafkatext.Properties{}
	if path := c.config.Last() + c.oldConfig.Last(); path != "" {
		var err error
		if p.props, err = kafkatext.Load(path); err != nil {
			return err
		}
	}
	for _, pair := range append(append(c.property.All(), c.oldProperty.All()...), fs.Args()...) {
		key, value, ok := strings.Cut(pair, "=")
		// The script's parser takes neither an empty value nor a second equals sign.
		if !ok || value == "" || strings.Contains(value, "=") {
			return option.Fail("Invalid property: %s", pair)
		}
		p.props[key] = value
	}
	if p.bootstrap == "" {
		p.bootstrap = p.props["bootstrap.servers"]
	}
	// The option goes over the property; a duration without an id makes one up, so that the run is in transactions.
	id := p.props["transactional.id"]
	if c.transactionalID.Given() {
		id = c.transactionalID.Last()
	}
	switch {
	case id != "" && p.transactionMs == 0:
		p.transactionMs = defaultTransactionMs
	case id == "" && p.transactionMs > 0:
		id = "performance-producer-" + randomID()
	}
	p.props["transactional.id"] = id
	if p.throughput < 0 {
		// No limit: every record is due at once, and the throttle never waits.
		p.throughput = math.Inf(1)
	}
	return nil
}
