// Package verifiableproducer is kafka-verifiable-producer: it sends rising numbers and tells for each of them, as a line of
// JSON, whether it was acknowledged and where, or why not.
//
// Requests: Metadata (3), which creates the topic, then Produce (0).
//
// Nothing is sent twice: the script turns the producer's retries off, so that a line tells what one attempt came to.
package verifiableproducer

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
	"troupe/cmd/troupe/client/verifiable"
)

// script begins each complaint: argparse prints the name of the program.
const script = "verifiable-producer"

func misuse(format string, args ...any) error { return option.Misuse(script, format, args...) }

type command struct {
	bootstrap, topic, max, throughput, acks option.Text
	config                                  verifiable.Config
	createTime, prefix, keys                option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return verifiable.Command("verifiable-producer", "Send rising numbers and tell what became of each", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.topic, "topic", "NAME", "topic to send to")
	option.Default(fs, &c.max, "max-messages", "N", "-1", "number of records; -1 goes on until it is interrupted")
	option.Default(fs, &c.throughput, "throughput", "N", "-1", "records a second, roughly; -1 is no limit")
	option.Default(fs, &c.acks, "acks", "N", "-1", "acknowledgements: 0, 1 or -1, which is all")
	option.Var(fs, &c.createTime, "message-create-time", "MS", "time of the first record, in ms since 1970; later ones are as much later as they are sent")
	option.Var(fs, &c.prefix, "value-prefix", "N", "number that stands before each value, with a dot")
	option.Var(fs, &c.keys, "repeating-keys", "N", "keys that run from 0 up to this number, and again")
	c.config.Define(fs, script, "producer", "goes over the options")
}

// Complain implements option.Complainer.
func (c *command) Complain(err error) error { return misuse("%s", option.ArgumentError(err)) }

// plan is the command line as read.
type plan struct {
	bootstrap, topic string
	max              int64 // below 0: no end
	throughput       int64 // below 0: no limit
	createTime       int64 // ms since 1970; below 0: now
	prefix           string
	keys             int64 // below 0: records have no keys
	props            kafkatext.Properties
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	p, err := c.plan(fs, s)
	if err != nil {
		return err
	}
	return p.run(ctx, s.Err, verifiable.NewLog(s.Out), progress.On(s.Err, s.Out, true))
}

// plan checks in argparse's order: what can be converted comes before what is missing.
func (c *command) plan(fs *pflag.FlagSet, s option.Streams) (*plan, error) {
	p := &plan{bootstrap: c.bootstrap.Last(), topic: c.topic.Last(), createTime: -1, keys: -1}
	var acks, prefix int64
	for _, n := range []struct {
		text  *option.Text
		name  string
		class string
		bits  int
		def   int64
		to    *int64
	}{
		{&c.max, "max-messages", "Integer", 32, -1, &p.max}, {&c.throughput, "throughput", "Integer", 32, -1, &p.throughput},
		{&c.acks, "acks", "Integer", 32, -1, &acks}, {&c.createTime, "message-create-time", "Long", 64, -1, &p.createTime},
		{&c.prefix, "value-prefix", "Integer", 32, 0, &prefix}, {&c.keys, "repeating-keys", "Integer", 32, -1, &p.keys},
	} {
		var err error
		if *n.to, err = verifiable.Number(script, n.text, n.name, n.class, n.bits, n.def); err != nil {
			return nil, err
		}
	}
	if c.prefix.Given() {
		p.prefix = strconv.FormatInt(prefix, 10) + "."
	}
	switch {
	case acks < -1 || acks > 1:
		return nil, misuse("argument --acks: invalid choice: '%d' (choose from {0,1,-1})", acks)
	case fs.NArg() > 0:
		return nil, misuse("unrecognized arguments: '%s'", fs.Arg(0))
	case !c.topic.Given():
		return nil, misuse("argument --topic is required")
	case !c.bootstrap.Given():
		return nil, misuse("one of the arguments --bootstrap-server is required")
	}
	if err := c.config.CheckOnce(); err != nil {
		return nil, err
	}
	return p, c.properties(s, p, acks)
}

// properties puts the file over what the options say, as the script does: acks and retries of the file count.
func (c *command) properties(s option.Streams, p *plan, acks int64) error {
	p.props = kafkatext.Properties{"acks": strconv.FormatInt(acks, 10), "retries": "0"}
	file, err := c.config.Load(s)
	if err != nil {
		return err
	}
	p.props.Merge(file)
	return nil
}
