// Package localcluster runs the nodes of a cluster on one machine, as child processes of the binary: `troupe cluster
// --nodes 3`. Each has a directory of its own with all that it needs to be started again by hand:
//
//	DIR/node-1/troupe.yaml   its configuration, written anew at each start of the cluster
//	DIR/node-1/data          its log directory, kept for the next run
//	DIR/node-1/log           what it printed
//	DIR/node-1/pid           the process, while it runs
//	DIR/gossip.key           what their gossip is signed with, drawn at the first start
//
// A node that ends by itself, or is killed, is reported and left alone: whoever tries what a cluster does without a node
// wants it to stay away. With --restart it is started again.
package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
)

// command is the command line as read.
type command struct {
	nodes, port       int
	dir, config, rack string
	set               []string
	restart           bool
	key               string // of gossip, see plan
}

// Attach gives the command of kafka-cluster the options that make it run one. Without any of them it says what it says
// under that name.
func Attach(c *cobra.Command, s option.Streams) {
	var o command
	fs := c.Flags()
	fs.SortFlags = false
	fs.IntVar(&o.nodes, "nodes", 3, "run so many nodes on this machine, each a broker and a controller")
	fs.StringVar(&o.dir, "dir", "troupe-cluster", "where they keep configuration, data and logs")
	fs.IntVar(&o.port, "port", 9092, "port of node 1; the next has the next. Controllers listen 100 above, gossip is 200 above, the admin port 552 above")
	fs.StringVar(&o.rack, "rack", "", "racks between commas, given to the nodes in turn")
	fs.StringVar(&o.config, "config", "", "configuration of every node: YAML, or a server.properties of Kafka")
	fs.StringArrayVar(&o.set, "set", nil, "key=value for every node, over the file and the environment; repeatable")
	fs.BoolVar(&o.restart, "restart", false, "start a node again that ended without being told")
	misused := c.FlagErrorFunc()
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var bad *pflag.InvalidValueError
		if errors.As(err, &bad) && bad.GetFlag().Value.Type() == "int" {
			return option.Fail("troupe: --%s %s: expected a number", bad.GetFlag().Name, bad.GetValue())
		}
		return misused(c, err)
	})
	alone := c.RunE
	c.Long = c.Short + ".\nWith --nodes or another of its options: run a cluster on this machine until a signal stops it."
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case fs.NFlag() == 0:
			return alone(c, args)
		case len(args) > 0:
			return option.Fail("troupe: cluster runs nodes or does %s, not both", args[0])
		}
		return o.run(c.Context(), s)
	}
}

// run names everything that is in the way before anything is written or started.
func (o *command) run(ctx context.Context, s option.Streams) error {
	nodes, err := o.plan(os.Environ())
	if err == nil {
		err = errors.Join(inTheWay(nodes)...)
	}
	if err != nil {
		return option.Fail("troupe: %s", strings.ReplaceAll(err.Error(), "\n", "\ntroupe: "))
	}
	if err := keepKey(o.dir, o.key); err != nil {
		return fmt.Errorf("troupe: --dir %s cannot be written to: %w", o.dir, err)
	}
	for _, n := range nodes {
		if err := n.write(); err != nil {
			return fmt.Errorf("troupe: --dir %s cannot be written to: %w", o.dir, err)
		}
	}
	if o.nodes == 2 {
		fmt.Fprintln(s.Err, "troupe: of two nodes none can be away: nothing is elected or created without both; three go on without one")
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	return newRun(binary, o.dir, nodes, o.restart, s).until(ctx)
}
