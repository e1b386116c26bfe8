// Package consumergroups is kafka-consumer-groups: list, describe and delete groups of consumers, and change the
// offsets they have committed.
//
// Requests: ListGroups (16) to every broker; to a group's coordinator ConsumerGroupDescribe (69), or DescribeGroups (15)
// where the group is a classic one, OffsetFetch (9), OffsetCommit (8), OffsetDelete (47) and DeleteGroups (42);
// ListOffsets (2) to leaders, and Metadata (3).
//
// Like the script, the command ends with 0 after a cluster has refused something: the refusal stands in the output.
// Only a command line that cannot be carried out ends with 1. With -o json a failure is one.
package consumergroups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/groups"
	"troupe/cmd/troupe/client/option"
)

// command holds the options of all actions, as the script does; check tells which go together.
type command struct {
	conn                                              connection.Options
	group, topic, timeout, state, kind, regex         option.Text
	toOffset, shiftBy, toDatetime, byDuration, inFile option.Text

	fs      *pflag.FlagSet
	streams option.Streams
	client  *connection.Client
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("consumer-groups", "List, describe, delete and reset consumer groups", s, &command{})
}

// unvalued stands for the value of --state and --type when there is none; pflag takes an empty one for a missing option.
const unvalued = " "

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	fs.Bool("list", false, "list consumer groups")
	fs.Bool("describe", false, "describe groups: their offsets and lag unless --members or --state")
	fs.Bool("delete", false, "delete groups, their offsets included")
	fs.Bool("reset-offsets", false, "plan new offsets of inactive groups, and set them with --execute")
	fs.Bool("delete-offsets", false, "delete a group's offsets of topics")
	option.Var(fs, &c.regex, "validate-regex", "REGEX", "tell whether a regular expression is one of RE2's")
	option.Var(fs, &c.group, "group", "ID", "group to act on, repeatable")
	fs.Bool("all-groups", false, "act on all groups")
	option.Var(fs, &c.topic, "topic", "NAME[:0,1,...]", "topic, or partitions of it, repeatable")
	fs.Bool("all-topics", false, "all partitions the group has offsets of")
	fs.Bool("members", false, "describe the members")
	fs.Bool("offsets", false, "describe the offsets, as without")
	option.Optional(fs, &c.state, "state", "STATES", unvalued, "describe the state; or list states, or only groups in some")
	option.Optional(fs, &c.kind, "type", "TYPES", unvalued, "list the types, or only groups of some")
	fs.Bool("verbose", false, "describe more")
	fs.Bool(lagSeconds, false, "describe the offsets with the age of the oldest record not read (Troupe's own option)")
	fs.Bool("to-earliest", false, "reset to the earliest offset")
	fs.Bool("to-latest", false, "reset to the end")
	fs.Bool("to-current", false, "reset to the committed offset, or to the end where there is none")
	option.Var(fs, &c.toOffset, "to-offset", "OFFSET", "reset to an offset")
	option.Var(fs, &c.shiftBy, "shift-by", "N", "reset to so many records after, or before, the committed offset")
	option.Var(fs, &c.toDatetime, "to-datetime", "YYYY-MM-DDThh:mm:ss.sss", "reset to the first record from then on")
	option.Var(fs, &c.byDuration, "by-duration", "PnDTnHnMnS", "reset to the first record of so long ago")
	option.Var(fs, &c.inFile, "from-file", "FILE", "reset to the offsets of a CSV file as --export writes them")
	fs.Bool("dry-run", false, "only show the new offsets")
	fs.Bool("execute", false, "set the new offsets")
	fs.Bool("export", false, "write the new offsets as CSV")
	option.Default(fs, &c.timeout, "timeout", "MS", "30000", "how long to wait for the cluster")
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	c.fs, c.streams = fs, s
	if err := c.check(); err != nil {
		return err
	}
	if c.has("validate-regex") {
		return c.validateRegex()
	}
	timeout, err := c.timeout.Int(64, 0)
	if err != nil {
		return err
	}
	if c.client, err = c.conn.Open("adminclient-1", s.Err); err != nil {
		return err
	}
	defer c.client.Close()
	c.client.Timeout = time.Duration(timeout) * time.Millisecond
	err = c.act(ctx)
	var usage *option.Failure
	if err == nil || ctx.Err() != nil || errors.As(err, &usage) {
		return err
	}
	return c.complain("Executing consumer group command failed due to " + err.Error())
}

// act runs the one action that check has made sure of.
func (c *command) act(ctx context.Context) error {
	switch {
	case c.has("list"):
		return c.list(ctx)
	case c.has("describe"):
		return c.describe(ctx)
	case c.has("delete"):
		return c.delete(ctx)
	case c.has("reset-offsets"):
		return c.reset(ctx)
	}
	return c.deleteOffsets(ctx)
}

func (c *command) has(name string) bool { return c.fs.Changed(name) }

// complain writes an error where the script does, on standard output behind an empty line. Standard output of -o json
// has to stay JSON, so there it is a failure.
func (c *command) complain(text string) error {
	if option.JSON(c.fs) {
		return option.Fail("Error: %s", text)
	}
	fmt.Fprintf(c.streams.Out, "\nError: %s\n", text)
	return nil
}

// groupIDs are the groups to act on.
func (c *command) groupIDs(ctx context.Context) ([]string, error) {
	if !c.has("all-groups") {
		return c.group.All(), nil
	}
	return c.allIDs(ctx)
}

// consumerGroups leaves out what other tools are for: groups of Connect's workers, share groups, streams groups.
func (c *command) consumerGroups(ctx context.Context, states, types []string) ([]groups.Listing, error) {
	all, err := groups.List(ctx, c.client, states, types)
	return groups.ForConsumers(all), err
}
