// Package e2elatency is kafka-e2e-latency: how long a record takes from its producer to a consumer that waits for it, one
// record at a time.
//
// Requests: Metadata (3), CreateTopics (19) for a topic that is not there, ListOffsets (2), Produce (0), Fetch (1).
//
// Every thousandth time is shown as it comes, in ms; then the average, and percentiles in whole ms.
package e2elatency

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
)

type command struct {
	bootstrap, topic, records, acks, size option.Text
	keySize, headers                      option.Text
	headerKeySize, headerSize             option.Text
	config                                option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("e2e-latency", "Measure the time from a producer to a consumer", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.topic, "topic", "NAME", "topic to use; made with one partition when it is not there")
	option.Var(fs, &c.records, "num-records", "N", "number of records")
	option.Var(fs, &c.acks, "producer-acks", "ACKS", "1 or all")
	option.Var(fs, &c.size, "record-size", "BYTES", "size of a record's value")
	option.Default(fs, &c.keySize, "record-key-size", "BYTES", "0", "size of a record's key")
	option.Default(fs, &c.headers, "num-headers", "N", "0", "number of headers of a record")
	option.Default(fs, &c.headerKeySize, "record-header-key-size", "BYTES", "0", "size of a header's key")
	option.Default(fs, &c.headerSize, "record-header-size", "BYTES", "0", "size of a header's value; -1 is null")
	option.Var(fs, &c.config, "command-config", "FILE", "property file for the clients")
}

// plan is the command line as read; sizes are in bytes. A key of no bytes is empty and not null, as the script sends it.
type plan struct {
	bootstrap, topic, acks    string
	records                   int
	size, keySize             int
	headers                   int
	headerKeySize, headerSize int // a value of -1 bytes is null
	props                     kafkatext.Properties
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := c.positional(fs, s); err != nil {
		return err
	}
	p, err := c.plan(fs)
	if err != nil {
		return err
	}
	return p.run(ctx, s, option.JSON(fs), progress.On(s.Err, s.Out, false))
}

// named are the required options, in the order of the arguments that were there before them.
var named = []string{"bootstrap-server", "topic", "num-records", "producer-acks", "record-size"}

// positional takes the arguments of older versions for the options they became.
func (c *command) positional(fs *pflag.FlagSet, s option.Streams) error {
	if option.Count(fs, named...) > 0 {
		return nil // what stands beside them is ignored, as the script does
	}
	if n := fs.NArg(); n != len(named) && n != len(named)+1 {
		return option.Fail("Invalid number of arguments. Expected 5 or 6 positional arguments, but got %d. "+
			"Usage: bootstrap-server topic num-records producer-acks record-size [optional] command-config", n)
	}
	// On standard output, as the script has it; JSON there is for programs and stays alone.
	warn := s.Out
	if option.JSON(fs) {
		warn = s.Err
	}
	fmt.Fprintln(warn, "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named arguments instead: "+
		"--bootstrap-server, --topic, --num-records, --producer-acks, --record-size, --command-config")
	for i, value := range fs.Args() {
		name := "command-config"
		if i < len(named) {
			name = named[i]
		}
		if err := fs.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// plan checks in the script's order: whether acks make sense before any number is read.
func (c *command) plan(fs *pflag.FlagSet) (*plan, error) {
	if err := option.Require(fs, named...); err != nil {
		return nil, err
	}
	p := &plan{props: kafkatext.Properties{}}
	// An option that stands there twice is told when it is read, not before.
	for _, t := range []struct {
		text *option.Text
		to   *string
	}{{&c.bootstrap, &p.bootstrap}, {&c.topic, &p.topic}, {&c.acks, &p.acks}} {
		var err error
		if *t.to, err = t.text.One(); err != nil {
			return nil, err
		}
	}
	if p.acks != "1" && p.acks != "all" {
		return nil, option.Fail("Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. Please use '1' or 'all'.")
	}
	for _, n := range []struct {
		text  *option.Text
		name  string
		least int64
		rule  string
		to    *int
	}{
		{&c.records, "num-records", 1, "positive integer.", &p.records},
		{&c.size, "record-size", 0, "non-negative integer.", &p.size},
		{&c.keySize, "record-key-size", 0, "non-negative integer.", &p.keySize},
		{&c.headerKeySize, "record-header-key-size", 0, "non-negative integer.", &p.headerKeySize},
		{&c.headerSize, "record-header-size", -1, "non-negative integer or -1 for null header value.", &p.headerSize},
		{&c.headers, "num-headers", 0, "non-negative integer.", &p.headers},
	} {
		v, err := n.text.Int(32, 0)
		if err != nil {
			return nil, err
		}
		if v < n.least {
			return nil, option.Fail("Value for --%s must be a %s", n.name, n.rule)
		}
		*n.to = int(v)
	}
	path, err := c.config.One()
	if err != nil || path == "" {
		return p, err
	}
	p.props, err = kafkatext.Load(path)
	return p, err
}
