// Package verifiableconsumer is kafka-verifiable-consumer: a member of a group that tells, as lines of JSON, which
// partitions it was given, what it read of them and what it committed.
//
// Requests: Metadata (3), FindCoordinator (10), those of a member of a classic group (11 to 14) or ConsumerGroupHeartbeat
// (68), OffsetFetch (9), ListOffsets (2), Fetch (1) and OffsetCommit (8).
package verifiableconsumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
	"troupe/cmd/troupe/client/verifiable"
)

// script begins each complaint: argparse prints the name of the program.
const script = "verifiable-consumer"

func misuse(format string, args ...any) error { return option.Misuse(script, format, args...) }

type command struct {
	bootstrap, topic, group, instance, max option.Text
	protocol, remoteAssignor, assignment   option.Text
	session, reset                         option.Text
	config                                 verifiable.Config
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return verifiable.Command("verifiable-consumer", "Read a topic in a group and tell what happens", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.topic, "topic", "NAME", "topic to read")
	option.Var(fs, &c.group, "group-id", "ID", "consumer group to read as a member of")
	option.Var(fs, &c.instance, "group-instance-id", "ID", "id of a static member")
	option.Default(fs, &c.max, "max-messages", "N", "-1", "number of records; -1 goes on until it is interrupted")
	option.Default(fs, &c.protocol, "group-protocol", "PROTOCOL", "classic", "classic or consumer")
	option.Var(fs, &c.remoteAssignor, "group-remote-assignor", "NAME", "assignor of the coordinator, with --group-protocol consumer: uniform or range")
	option.Default(fs, &c.assignment, "assignment-strategy", "CLASS", "org.apache.kafka.clients.consumer.RangeAssignor",
		"assignor of the members, with --group-protocol classic")
	option.Var(fs, &c.session, "session-timeout", "MS", "session timeout, with --group-protocol classic")
	option.Default(fs, &c.reset, "reset-policy", "POLICY", "earliest", "where a group without offsets begins: earliest, latest or none")
	fs.Bool("verbose", false, "tell of every record")
	fs.Bool("enable-autocommit", false, "commit every 5 s, and not what each poll brought")
	c.config.Define(fs, script, "consumer", "the options go over it")
}

// Complain implements option.Complainer.
func (c *command) Complain(err error) error { return misuse("%s", option.ArgumentError(err)) }

// plan is the command line as read.
type plan struct {
	bootstrap           string
	max                 int64 // below 0: no end
	verbose, autoCommit bool
	props               kafkatext.Properties
	options             []kgo.Opt
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
	p := &plan{bootstrap: c.bootstrap.Last(), verbose: fs.Changed("verbose"), autoCommit: fs.Changed("enable-autocommit")}
	var err error
	if p.max, err = verifiable.Number(script, &c.max, "max-messages", "Integer", 32, -1); err != nil {
		return nil, err
	}
	// Only checked: the property is text again.
	if _, err := verifiable.Number(script, &c.session, "session-timeout", "Integer", 32, 0); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, misuse("unrecognized arguments: '%s'", fs.Arg(0))
	case !c.topic.Given():
		return nil, misuse("argument --topic is required")
	case !c.group.Given():
		return nil, misuse("argument --group-id is required")
	case !c.bootstrap.Given():
		return nil, misuse("argument --bootstrap-server is required")
	}
	if err := c.config.CheckOnce(); err != nil {
		return nil, err
	}
	if err := c.properties(s, p); err != nil {
		return nil, err
	}
	if p.options, err = c.consumer(p); err != nil {
		return nil, option.Fail("%s", err)
	}
	return p, nil
}

// properties puts the options over the file, as the script does; verifiable-producer has it the other way round. Of the
// options that belong to one protocol only those that were given are set: the other protocol refuses them.
func (c *command) properties(s option.Streams, p *plan) error {
	var err error
	if p.props, err = c.config.Load(s); err != nil {
		return err
	}
	p.props["group.protocol"] = c.protocol.Last()
	// Whatever the file says: what is committed has to be known to whoever reads the events.
	p.props["enable.auto.commit"] = fmt.Sprint(p.autoCommit)
	for key, text := range map[string]*option.Text{
		"group.instance.id": &c.instance, "group.remote.assignor": &c.remoteAssignor, "session.timeout.ms": &c.session,
	} {
		if text.Given() {
			p.props[key] = text.Last()
		}
	}
	if !strings.EqualFold(c.protocol.Last(), "consumer") {
		p.props["partition.assignment.strategy"] = c.assignment.Last()
	}
	return nil
}

// consumer makes the options of the client.
func (c *command) consumer(p *plan) ([]kgo.Opt, error) {
	var reset kgo.Offset
	switch policy := c.reset.Last(); policy {
	case "earliest":
		reset = kgo.NewOffset().AtStart()
	case "latest":
		reset = kgo.NewOffset().AtEnd()
	// The member ends, instead of choosing for itself, where its group has no offset.
	case "none":
		reset = kgo.NoResetOffset()
	default:
		return nil, errors.New("Invalid value " + policy + " for configuration auto.offset.reset: earliest, latest or none is expected here")
	}
	opts, err := connection.GroupOptions(p.props, c.group.Last())
	if err != nil {
		return nil, err
	}
	// Errors that pass are kept so that they can be told; fetches wait as the Java consumer's do (fetch.max.wait.ms).
	return append(opts, kgo.ConsumeTopics(c.topic.Last()), kgo.ConsumeResetOffset(reset), kgo.AllowAutoTopicCreation(),
		kgo.MetadataMinAge(250*time.Millisecond), kgo.FetchMaxWait(500*time.Millisecond)), nil
}
