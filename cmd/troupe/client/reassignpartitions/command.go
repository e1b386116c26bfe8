// Package reassignpartitions is kafka-reassign-partitions: it moves replicas to other brokers and to other log directories,
// follows the moves, takes them back, and sets and clears their throttles (KIP-455, KIP-113, KIP-73).
//
// Requests: Metadata (3), AlterReplicaLogDirs (34), DescribeLogDirs (35), IncrementalAlterConfigs (44),
// AlterPartitionReassignments (45), ListPartitionReassignments (46).
//
// Everything is told on standard output, errors too; the code is then 1.
package reassignpartitions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

type command struct {
	servers, controllers, config, file, topics, brokers option.Text
	throttle, dirThrottle, timeout                      option.Text

	fs      *pflag.FlagSet
	streams option.Streams
	client  *connection.Client
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("reassign-partitions", "Move replicas of partitions to other brokers", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	fs.Bool("generate", false, "propose where the partitions of some topics could be; nothing is moved")
	fs.Bool("execute", false, "begin the moves of --reassignment-json-file")
	fs.Bool("verify", false, "show how far they are; when all are over, throttles are taken back")
	fs.Bool("cancel", false, "take moves back that are under way")
	fs.Bool("list", false, "show all moves that are under way")
	option.Var(fs, &c.servers, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &c.controllers, "bootstrap-controller", "HOST:PORT,...", "controllers to connect to instead, for --cancel and --list")
	option.Var(fs, &c.config, "command-config", "FILE", "property file for the client")
	option.Var(fs, &c.file, "reassignment-json-file", "FILE",
		`moves: {"version": 1, "partitions": [{"topic": "a", "partition": 1, "replicas": [1, 2]}, ...]}; "log_dirs" may name a directory for each replica`)
	option.Var(fs, &c.topics, "topics-to-move-json-file", "FILE", `topics to propose for: {"version": 1, "topics": [{"topic": "a"}, ...]}`)
	option.Var(fs, &c.brokers, "broker-list", "ID,...", "brokers to propose")
	fs.Bool("disable-rack-aware", false, "propose without regard to racks")
	option.Default(fs, &c.throttle, "throttle", "BYTES", "-1", "most bytes a second that moves between brokers take")
	option.Default(fs, &c.dirThrottle, "replica-alter-log-dirs-throttle", "BYTES", "-1", "most bytes a second that moves between directories take")
	option.Default(fs, &c.timeout, "timeout", "MS", "10000", "how long to wait until moves between directories have begun")
	fs.Bool("additional", false, "begin the moves beside others, or change the throttle of those that are under way")
	fs.Bool("disallow-replication-factor-change", false, "refuse moves to another number of replicas")
	fs.Bool("preserve-throttles", false, "leave throttles as they are")
}

// action is one of the five things that the script does, and the options that may stand beside it.
type action struct {
	name               string
	required, optional []string
	run                func(context.Context) error
}

func (c *command) actions() []action {
	const moves = "reassignment-json-file"
	return []action{
		{"generate", []string{"topics-to-move-json-file", "broker-list"}, []string{"disable-rack-aware"}, c.generate},
		{"execute", []string{moves}, []string{"additional", "throttle", "replica-alter-log-dirs-throttle", "timeout", "disallow-replication-factor-change"}, c.execute},
		{"verify", []string{moves}, []string{"preserve-throttles"}, c.verify},
		{"cancel", []string{moves}, []string{"preserve-throttles", "timeout"}, c.cancel},
		{"list", nil, nil, c.list},
	}
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	c.fs, c.streams = fs, s
	chosen, err := c.check()
	if err != nil {
		return err
	}
	err = c.open(chosen)
	if err == nil {
		defer c.client.Close()
		err = chosen.run(ctx)
	}
	var terse terse
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return option.Silent()
	case errors.As(err, &terse):
		fmt.Fprintln(s.Out, terse)
	default:
		fmt.Fprintln(s.Out, "Error: "+qualified(err))
		// The script's stack trace is not printed, but for the one reason that is nowhere else.
		if refused := (*assignment.Refused)(nil); errors.As(err, &refused) {
			fmt.Fprintln(s.Err, "Caused by: "+qualified(refused.Cause))
		}
	}
	return option.Silent()
}

// terse is an error that the script prints without its "Error: ".
type terse string

func (e terse) Error() string { return string(e) }

// qualified gives an answer of the cluster as the exception of the client's future, which the script prints.
func qualified(err error) string {
	var failure *kafkatext.Failure
	if errors.As(err, &failure) {
		return failure.Qualified()
	}
	return err.Error()
}

// check refuses what the script's parser refuses, in its order.
func (c *command) check() (*action, error) {
	var chosen []action
	for _, a := range c.actions() {
		if c.fs.Changed(a.name) {
			chosen = append(chosen, a)
		}
	}
	servers, controllers := c.servers.Given(), c.controllers.Given()
	switch {
	case len(chosen) != 1:
		return nil, option.Fail("Command must include exactly one action: --generate, --execute, --verify, --cancel, --list")
	case servers && controllers:
		return nil, option.Fail("Please don't specify both --bootstrap-server and --bootstrap-controller")
	case !servers && !controllers:
		return nil, option.Fail("Please specify either --bootstrap-server or --bootstrap-controller")
	}
	a := chosen[0]
	if err := option.Require(c.fs, a.required...); err != nil {
		return nil, err
	}
	allowed := slices.Concat([]string{a.name, "bootstrap-server", "bootstrap-controller", "command-config", "output"}, a.required, a.optional)
	var refused error
	c.fs.Visit(func(f *pflag.Flag) {
		if refused == nil && !slices.Contains(allowed, f.Name) {
			refused = option.Fail(`Option "[%s]" can't be used with action "[%s]"`, f.Name, a.name)
		}
	})
	return &a, refused
}

// open makes the client. Controllers know nothing of topics, so most actions need brokers.
func (c *command) open(a *action) (err error) {
	props := kafkatext.Properties{}
	if c.config.Given() {
		if props, err = kafkatext.Load(c.config.Last()); err != nil {
			return err
		}
	}
	const id = "reassign-partitions-tool"
	if !c.controllers.Given() {
		c.client, err = connection.Open(c.servers.Last(), props, id, c.streams.Err)
		return err
	}
	if a.name != "cancel" && a.name != "list" {
		return errors.New("The --bootstrap-controller option is not supported with these action.")
	}
	c.client, err = connection.OpenControllers(c.controllers.Last(), props, id, c.streams.Err)
	return err
}

// read gives the content of a file that an option names.
func read(o *option.Text) ([]byte, error) {
	path, err := o.One()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("Unable to read file %s", path)
	}
	return text, nil
}
