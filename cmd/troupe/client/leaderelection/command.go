// Package leaderelection is kafka-leader-election: it asks for other leaders of partitions, the preferred ones or, where
// there are none, unclean ones (KIP-460).
//
// Requests: ElectLeaders (43) to the controller.
//
// The partitions are told in three lists: those that have a new leader, those that needed none, and those that failed,
// which alone make the exit code 1.
package leaderelection

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// defaultTimeout is the script's own default.api.timeout.ms, half of the Java client's.
const defaultTimeout = 30 * time.Second

type command struct {
	bootstrap, kind, topic, partition, file option.Text
	config, oldConfig                       option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("leader-election", "Elect preferred or unclean leaders of partitions", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.kind, "election-type", "TYPE", "preferred, where another replica than the preferred one leads; or unclean, where none leads")
	fs.Bool("all-topic-partitions", false, "all partitions for which an election of this type makes sense")
	option.Var(fs, &c.topic, "topic", "NAME", "topic of the only partition")
	option.Var(fs, &c.partition, "partition", "N", "number of the only partition")
	option.Var(fs, &c.file, "path-to-json-file", "FILE", `partitions: {"partitions": [{"topic": "a", "partition": 1}, ...]}`)
	option.Var(fs, &c.config, "command-config", "FILE", "property file for the client")
	option.Var(fs, &c.oldConfig, "admin.config", "FILE", "old name of --command-config")
}

// plan is the command line as read.
type plan struct {
	kind       kind
	partitions []model.TopicPartition
	all        bool // partitions are then empty
	client     *connection.Client
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := c.check(fs); err != nil {
		return err
	}
	p, err := c.plan(fs)
	if err != nil {
		return err
	}
	if c.oldConfig.Given() {
		s.Deprecated("admin.config", "command-config")
	}
	// Everything the command line can be wrong in is read by now.
	if p.client, err = c.open(s); err != nil {
		return err
	}
	defer p.client.Close()
	return p.run(ctx, s, option.JSON(fs))
}

// check refuses what the script refuses, in its order: required options all at once, then which partitions are meant, and
// values only afterwards (plan).
func (c *command) check(fs *pflag.FlagSet) error {
	var missing []string
	for _, name := range []string{"bootstrap-server", "election-type"} {
		if !fs.Changed(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return option.Fail("Missing required option(s): %s", strings.Join(missing, ", "))
	}
	if err := option.Exclude(fs, "admin.config", "command-config"); err != nil {
		return err
	}
	switch {
	case option.Count(fs, "topic", "all-topic-partitions", "path-to-json-file") != 1:
		return option.Fail("One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file")
	case fs.Changed("topic") && !fs.Changed("partition"):
		return option.Fail("Missing required option(s): partition")
	case !fs.Changed("topic") && fs.Changed("partition"):
		return option.Fail("Option partition is only allowed if topic is used")
	}
	return nil
}

func (c *command) plan(fs *pflag.FlagSet) (*plan, error) {
	text, err := c.kind.One()
	if err != nil {
		return nil, err
	}
	p := &plan{all: fs.Changed("all-topic-partitions")}
	if p.kind, err = kindOf(text); err != nil {
		return nil, err
	}
	if c.file.Given() {
		path, err := c.file.One()
		if err != nil {
			return nil, err
		}
		p.partitions, err = read(path)
		return p, err
	}
	if c.topic.Given() {
		topic, err := c.topic.One()
		if err != nil {
			return nil, err
		}
		number, err := c.partition.Int(32, 0)
		if err != nil {
			return nil, err
		}
		p.partitions = []model.TopicPartition{{Topic: topic, Partition: int32(number)}}
	}
	return p, nil
}

// open makes the client with the script's time limit, unless the property file has one.
func (c *command) open(s option.Streams) (*connection.Client, error) {
	props, err := connection.PropertyFile(&c.config, &c.oldConfig)
	if err != nil {
		return nil, err
	}
	if _, set := props["default.api.timeout.ms"]; !set {
		props["default.api.timeout.ms"] = fmt.Sprint(defaultTimeout.Milliseconds())
	}
	bootstrap, err := c.bootstrap.One()
	if err != nil {
		return nil, err
	}
	client, err := connection.Open(bootstrap, props, "adminclient-1", s.Err)
	if err != nil {
		return nil, option.Fail("Failed to create new KafkaAdminClient: %s", err)
	}
	return client, nil
}
