// Package topics is kafka-topics: create, list, describe, alter and delete topics.
//
// Requests: all actions but create begin with Metadata (3), for the names that a pattern means. Then CreateTopics (19),
// CreatePartitions (37) or DeleteTopics (20); describe goes on with DescribeTopicPartitions (75, or with what Metadata
// told where a cluster lacks it), DescribeConfigs (32) and ListPartitionReassignments (46).
//
// Errors of the cluster are told on standard output, those of the command line on standard error; the code is 1.
package topics

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
)

// command reads --topic by what is done: a name when a topic is created, else a pattern of names.
type command struct {
	conn connection.Options
	topic, topicID, config, deleteConfig, partitions,
	replicationFactor, replicaAssignment, responseLimit option.Text

	fs      *pflag.FlagSet
	streams option.Streams
	client  *connection.Client
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("topics", "Create, delete, describe or change topics", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	fs.Bool("create", false, "create a topic")
	fs.Bool("list", false, "list topics")
	fs.Bool("describe", false, "show topics with their partitions")
	fs.Bool("alter", false, "add partitions")
	fs.Bool("delete", false, "delete topics")
	option.Var(fs, &c.topic, "topic", "NAME", "topic; a regular expression unless it is to be created")
	option.Var(fs, &c.topicID, "topic-id", "ID", "topic to describe")
	option.Var(fs, &c.partitions, "partitions", "N", "number of partitions")
	option.Var(fs, &c.replicationFactor, "replication-factor", "N", "replicas of each partition")
	option.Var(fs, &c.replicaAssignment, "replica-assignment", "0:1,1:2,...", "brokers of each partition's replicas")
	option.Var(fs, &c.config, "config", "KEY=VALUE", "config of the topic to create, repeatable")
	option.Var(fs, &c.deleteConfig, "delete-config", "KEY", "no longer acts; use configs --alter")
	fs.Bool("if-exists", false, "alter, delete or describe only if the topic exists")
	fs.Bool("if-not-exists", false, "do not fail when the topic to create exists")
	fs.Bool("exclude-internal", false, "leave out internal topics")
	fs.Bool("under-replicated-partitions", false, "describe only under-replicated partitions")
	fs.Bool("unavailable-partitions", false, "describe only partitions without a live leader")
	fs.Bool("under-min-isr-partitions", false, "describe only partitions below min.insync.replicas")
	fs.Bool("at-min-isr-partitions", false, "describe only partitions at min.insync.replicas")
	fs.Bool("topics-with-overrides", false, "describe only topics with configs of their own")
	option.Var(fs, &c.responseLimit, "partition-size-limit-per-response", "N", "most partitions asked for in one response")
}

// reports are the filters of --describe that leave out configs; they exclude --topics-with-overrides.
var reports = []string{
	"under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions",
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	c.fs, c.streams = fs, s
	if err := c.check(); err != nil {
		return err
	}
	// The client id is that of the Java admin client, by which quotas and logs of a cluster know it.
	client, err := c.conn.Open("adminclient-1", s.Err)
	if err != nil {
		return err
	}
	defer client.Close()
	c.client = client
	// The check has let exactly one of them through.
	for name, run := range map[string]func(context.Context) error{
		"create": c.create, "alter": c.alter, "list": c.list, "describe": c.describe, "delete": c.delete,
	} {
		if !c.has(name) {
			continue
		}
		if err := run(ctx); err != nil {
			// An interrupt ends the command without a word, as it ends the script.
			if ctx.Err() != nil {
				return err
			}
			// The script says so on standard output, and ends with 1.
			fmt.Fprintf(s.Out, "Error while executing topic command : %s\n", err)
			return option.Silent()
		}
	}
	return nil
}

// check refuses combinations of options, in the script's order.
func (c *command) check() error {
	actions := []string{"alter", "create", "describe", "list", "delete"}
	if option.Count(c.fs, actions...) != 1 {
		return option.Fail("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
	}
	// A warning only: scripts that still pass it go on.
	if c.has("delete-config") {
		fmt.Fprintln(c.streams.Err, "delete-config option is no longer supported and deprecated since version 4.0. "+
			"The config will be fully removed in future releases.")
	}
	if !c.has("bootstrap-server") {
		return option.Fail("--bootstrap-server must be specified")
	}
	if c.has("describe") && c.has("if-exists") {
		if !c.has("topic") && !c.has("topic-id") {
			return option.Fail("--topic or --topic-id is required to describe a topic")
		}
		if c.has("topic") && c.has("topic-id") {
			fmt.Fprintln(c.streams.Out, "Only topic id will be used when both --topic and --topic-id are specified "+
				"and topicId is not Uuid.ZERO_UUID")
		}
	}
	if !c.has("list") && !c.has("describe") {
		if err := option.Require(c.fs, "topic"); err != nil {
			return err
		}
	}
	if c.has("alter") {
		if c.has("config") {
			return option.Fail(`Option combination "[[bootstrap-server], [config]]" can't be used with option "[alter]"` +
				" (To alter topic configurations, the kafka-configs tool can be used.)")
		}
		if err := option.Require(c.fs, "partitions"); err != nil {
			return err
		}
	}
	return c.checkModifiers(actions)
}

// checkModifiers refuses options that do not belong to the action.
func (c *command) checkModifiers(actions []string) error {
	// In the script's order, which decides what is complained of first.
	rules := []struct {
		used    string
		allowed []string
		refused []string
	}{
		{"config", []string{"alter", "create"}, nil},
		{"partitions", []string{"alter", "create"}, nil},
		{"replication-factor", []string{"create"}, nil},
		{"replica-assignment", []string{"alter", "create"}, nil},
		{"under-replicated-partitions", []string{"describe"}, []string{"topics-with-overrides"}},
		{"under-min-isr-partitions", []string{"describe"}, []string{"topics-with-overrides"}},
		{"at-min-isr-partitions", []string{"describe"}, []string{"topics-with-overrides"}},
		{"unavailable-partitions", []string{"describe"}, []string{"topics-with-overrides"}},
		{"topics-with-overrides", []string{"describe"}, reports},
		{"if-exists", []string{"alter", "delete", "describe"}, nil},
		{"if-not-exists", []string{"create"}, nil},
		{"exclude-internal", []string{"list", "describe"}, nil},
	}
	for i, rule := range rules {
		// An assignment says both counts by itself. The script looks at it after the options that stand before.
		if i == 4 && c.has("create") {
			if err := option.Exclude(c.fs, "replica-assignment", "partitions", "replication-factor"); err != nil {
				return err
			}
		}
		refused := rule.refused
		for _, action := range actions {
			if !slices.Contains(rule.allowed, action) {
				refused = append(refused[:len(refused):len(refused)], action)
			}
		}
		if err := option.Exclude(c.fs, rule.used, refused...); err != nil {
			return err
		}
	}
	return nil
}

// has tells whether the option is on the command line, whatever its value.
func (c *command) has(name string) bool { return c.fs.Changed(name) }
