// Package configs is kafka-configs: describe and alter the configs of topics, brokers, loggers, client metrics and
// groups, and the quotas and credentials of users, clients and addresses.
//
// Requests: DescribeConfigs (32) and IncrementalAlterConfigs (44) for configs; what there is to describe comes of Metadata
// (3), DescribeCluster (60), ListGroups (16) and ListConfigResources (74). Quotas have DescribeClientQuotas (48) and
// AlterClientQuotas (49), credentials DescribeUserScramCredentials (50) and AlterUserScramCredentials (51). Configs of a
// broker are asked of that broker, by its id: no other knows what its file says.
package configs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// The entity types, as --entity-type takes them.
const (
	topics        = "topics"
	clients       = "clients"
	users         = "users"
	brokers       = "brokers"
	ips           = "ips"
	clientMetrics = "client-metrics"
	groups        = "groups"
	loggers       = "broker-loggers"
)

// entityTypes stand in the script's order, for its message.
var entityTypes = []string{topics, clients, users, brokers, ips, clientMetrics, groups, loggers}

// command holds both ways to name an entity: --entity-type with --entity-name, and the shortcuts such as --topic.
type command struct {
	conn                                connection.Options
	types                               option.Text
	names                               option.Text // --entity-name and --entity-default in order, the default as ""
	addConfig, addConfigFile, delete    option.Text
	bootstrapController                 option.Text
	topic, client, user, broker, logger option.Text
	ip, group, metrics                  option.Text

	fs      *pflag.FlagSet
	streams option.Streams
	admin   *connection.Client
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("configs", "Describe or alter configs and quotas", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	option.Var(fs, &c.bootstrapController, "bootstrap-controller", "HOST:PORT,...", "controllers to connect to instead")
	fs.Bool("describe", false, "show configs")
	fs.Bool("alter", false, "change configs")
	fs.Bool("all", false, "describe every config, not only the dynamic ones")
	option.Var(fs, &c.types, "entity-type", "TYPE", strings.Join(entityTypes, ", "))
	option.Var(fs, &c.names, "entity-name", "NAME", "topic, client, user, broker, address, metrics subscription or group")
	fs.Var(defaultEntity{&c.names}, "entity-default", "the default entity of clients, users, brokers or ips")
	// Without it pflag would take the next argument for the value.
	fs.Lookup("entity-default").NoOptDefVal = "true"
	option.Var(fs, &c.addConfig, "add-config", "K1=V1,K2=[V2,V3]", "configs to set; brackets hold values with commas")
	option.Var(fs, &c.addConfigFile, "add-config-file", "FILE", "property file of configs to set")
	option.Var(fs, &c.delete, "delete-config", "K1,K2", "configs to unset")
	option.Var(fs, &c.topic, "topic", "NAME", "a topic")
	option.Var(fs, &c.client, "client", "ID", "a client id")
	fs.Bool("client-defaults", false, "the default of clients")
	option.Var(fs, &c.user, "user", "NAME", "a user")
	fs.Bool("user-defaults", false, "the default of users")
	option.Var(fs, &c.broker, "broker", "ID", "a broker")
	fs.Bool("broker-defaults", false, "the default of brokers")
	option.Var(fs, &c.logger, "broker-logger", "ID", "the loggers of a broker")
	option.Var(fs, &c.ip, "ip", "ADDRESS", "an address")
	fs.Bool("ip-defaults", false, "the default of addresses")
	option.Var(fs, &c.group, "group", "ID", "a group")
	option.Var(fs, &c.metrics, "client-metrics", "NAME", "a metrics subscription")
}

// defaultEntity adds the default to the names, so that the order among --entity-name stays.
type defaultEntity struct{ names *option.Text }

func (d defaultEntity) String() string   { return "" }
func (d defaultEntity) Set(string) error { return d.names.Set("") }
func (d defaultEntity) Type() string     { return "bool" }

// plain is an error the script prints as it is; others come with the command line and their class.
type plain struct{ error }

func illegal(format string, args ...any) error { return plain{fmt.Errorf(format, args...)} }

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	c.fs, c.streams = fs, s
	err := c.execute(ctx)
	var bare plain
	var usage *option.Failure
	var answer *kafkatext.Failure
	switch {
	case err == nil || errors.As(err, &usage):
		return err
	// The script tells its own complaints by their text alone; what escapes it is shown with the arguments and its class.
	case errors.As(err, &bare):
		return option.Fail("%s", err)
	case errors.As(err, &answer):
		err = errors.New("java.util.concurrent.ExecutionException: " + answer.Qualified())
	}
	return option.Fail("Error while executing config command with args '%s'\n%s", strings.Join(s.Args, " "), err)
}

func (c *command) execute(ctx context.Context) error {
	types, names, err := c.entities()
	if err != nil {
		return err
	}
	if err := c.check(types, names); err != nil {
		return err
	}
	if c.admin, err = c.open(); err != nil {
		return err
	}
	defer c.admin.Close()
	if c.fs.Changed("describe") {
		return c.describe(ctx, types, names)
	}
	// Altering needs the whole entity, though describing takes the types it has names for.
	if len(types) != len(names) {
		return illegal("An entity name must be specified for every entity type")
	}
	return c.alter(ctx, types, names)
}

// open connects to brokers, or to controllers when those are named (KIP-919): the way to change configs while no broker
// is up.
func (c *command) open() (*connection.Client, error) {
	if !c.bootstrapController.Given() {
		return c.conn.Open("adminclient-1", c.streams.Err)
	}
	props, err := c.conn.Properties()
	if err != nil {
		return nil, err
	}
	controllers, err := c.bootstrapController.One()
	if err != nil {
		return nil, err
	}
	return connection.OpenControllers(controllers, props, "adminclient-1", c.streams.Err)
}

// shortcuts are the options that name type and entity at once, in the script's order.
func (c *command) shortcuts() []struct {
	flag, kind string
	text       *option.Text
} {
	return []struct {
		flag, kind string
		text       *option.Text
	}{
		{"topic", topics, &c.topic}, {"client", clients, &c.client}, {"user", users, &c.user}, {"broker", brokers, &c.broker},
		{"broker-logger", loggers, &c.logger}, {"ip", ips, &c.ip}, {"client-metrics", clientMetrics, &c.metrics},
		{"group", groups, &c.group},
		{"client-defaults", clients, nil}, {"user-defaults", users, nil}, {"broker-defaults", brokers, nil}, {"ip-defaults", ips, nil},
	}
}

// entities gives the entity types and names of all options; the default entity is "".
func (c *command) entities() (types, names []string, err error) {
	types, names = slices.Clone(c.types.All()), slices.Clone(c.names.All())
	for _, s := range c.shortcuts() {
		if !c.fs.Changed(s.flag) {
			continue
		}
		types = append(types, s.kind)
		name := ""
		if s.text != nil {
			if name, err = s.text.One(); err != nil {
				return nil, nil, plain{err}
			}
		}
		names = append(names, name)
	}
	return types, names, nil
}

// brokerID reads a node id; resource names of brokers are decimal numbers.
func brokerID(name string) (int32, bool) {
	n, err := strconv.ParseInt(name, 10, 32)
	return int32(n), err == nil
}
