// Package cluster is kafka-cluster: the cluster's id, its endpoints, and unregistering a broker.
//
// Requests: DescribeCluster (60), with fenced brokers from version 2 on, and UnregisterBroker (64).
package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// script begins each complaint: argparse prints the name of the program.
const script = "kafka-cluster"

func misuse(text string) error { return option.Misuse(script, "%s", text) }

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Group("cluster", "Show the cluster's id or endpoints, or unregister a broker", func(*pflag.FlagSet) {}, misuse,
		option.Subcommand("cluster-id", "Show the id of the cluster", s, &command{act: clusterID}),
		option.Subcommand("unregister", "Forget a broker", s, &command{act: unregister}),
		option.Subcommand("list-endpoints", "Show brokers or controllers with their addresses", s, &command{act: listEndpoints}),
	)
}

// action tells the three commands apart. They share their options and differ by one request each.
type action int

const (
	clusterID action = iota
	unregister
	listEndpoints
)

// command is one of the actions with the options that all share.
type command struct {
	act                                         action
	servers, controllers, config, oldConfig, id option.Text
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Short(fs, &c.servers, "bootstrap-server", "b", "HOST:PORT,...", "brokers to connect to first")
	option.Short(fs, &c.controllers, "bootstrap-controller", "C", "HOST:PORT,...", "controllers to connect to instead")
	option.Short(fs, &c.config, "command-config", "c", "FILE", "property file for the client")
	option.Var(fs, &c.oldConfig, "config", "FILE", "old name of --command-config")
	switch c.act {
	case unregister:
		option.Short(fs, &c.id, "id", "i", "ID", "broker to forget")
	case listEndpoints:
		fs.Bool("include-fenced-brokers", false, "show fenced brokers, too")
	}
}

// Complain implements option.Complainer.
func (c *command) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

// Run names the old option only after the check has passed: the script's parser complains before it warns.
func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	id, err := c.check(fs)
	if err != nil {
		return err
	}
	if c.oldConfig.Given() {
		s.Deprecated("config", "command-config")
	}
	client, err := c.open(s)
	if err != nil {
		return err
	}
	defer client.Close()
	switch c.act {
	case clusterID:
		return c.showID(ctx, client, fs, s)
	case unregister:
		return c.unregister(ctx, client, fs, s, int32(id))
	}
	return c.list(ctx, client, fs, s)
}

// check gives the broker id of unregister.
func (c *command) check(fs *pflag.FlagSet) (int64, error) {
	var id int64
	if c.act == unregister {
		if !c.id.Given() {
			return 0, misuse("argument --id/-i is required")
		}
		var err error
		if id, err = c.id.Int(32, 0); err != nil {
			return 0, misuse(fmt.Sprintf("argument --id/-i: could not convert '%s' to Integer (For input string: \"%s\")", c.id.Last(), c.id.Last()))
		}
	}
	switch {
	// argparse counts the two as one required group; the next two are the script's own and lack the program's name.
	case c.servers.Given() && c.controllers.Given():
		return 0, misuse("argument --bootstrap-controller/-C: not allowed with argument --bootstrap-server/-b")
	case !c.servers.Given() && !c.controllers.Given():
		return 0, misuse("one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required")
	case c.config.Given() && c.oldConfig.Given():
		return 0, option.Fail("--config and --command-config cannot be specified together.")
	case fs.Changed("include-fenced-brokers") && c.controllers.Given():
		return 0, option.Fail("The option --include-fenced-brokers is only supported with --bootstrap-server option")
	}
	return id, nil
}

// open connects to brokers or to controllers (KIP-919). Both go by the same property file, whichever of its two names
// was used.
func (c *command) open(s option.Streams) (*connection.Client, error) {
	conn := connection.Options{Bootstrap: c.servers, Config: c.config}
	if c.oldConfig.Given() {
		conn.Config = c.oldConfig
	}
	if c.servers.Given() {
		return conn.Open("adminclient-1", s.Err)
	}
	props, err := conn.Properties()
	if err != nil {
		return nil, err
	}
	return connection.OpenControllers(c.controllers.Last(), props, "adminclient-1", s.Err)
}

func (c *command) showID(ctx context.Context, client *connection.Client, fs *pflag.FlagSet, s option.Streams) error {
	resp, err := connection.Nodes(ctx, client, "listNodes", false)
	if err != nil {
		return qualified(err)
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, map[string]string{"clusterId": resp.ClusterID})
	}
	fmt.Fprintf(s.Out, "Cluster ID: %s\n", resp.ClusterID)
	return nil
}

// unregister removes a broker's registration, fenced or not there any more; a running broker registers again. A cluster
// without the request is no failure: the script says so and ends with 0.
func (c *command) unregister(ctx context.Context, client *connection.Client, fs *pflag.FlagSet, s option.Streams, id int32) error {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = id
	resp, err := connection.Ask(ctx, client, "unregisterBroker", req.RequestWith)
	if connection.Unsupported(err) {
		fmt.Fprintln(s.Out, "The target cluster does not support the broker unregistration API.")
		return nil
	}
	if err == nil {
		err = kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage)
	}
	if err != nil {
		return qualified(err)
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, map[string]int32{"unregistered": id})
	}
	fmt.Fprintf(s.Out, "Broker %d is no longer registered.\n", id)
	return nil
}

// qualified gives an answer with its Java class, as the script prints it.
func qualified(err error) error {
	var failure *kafkatext.Failure
	if errors.As(err, &failure) {
		return errors.New(failure.Qualified())
	}
	return err
}
