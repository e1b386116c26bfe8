// Package rebalance is a command that Kafka has not: it spreads replicas, leaders and racks over the brokers, after nodes
// were added or before one is taken away, and gives topics the replicas that there were too few brokers for when they were
// made. Without --execute it shows what it would do.
//
// Requests: Metadata (3), ElectLeaders (43), AlterPartitionReassignments (45), ListPartitionReassignments (46) and, for a
// throttle, IncrementalAlterConfigs (44).
package rebalance

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cluster/rebalance"
	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

type command struct {
	conn                                                connection.Options
	drain, topics, internal, factor, together, throttle option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("rebalance", "Spread replicas and leaders over the brokers, or empty one", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	fs.Bool("execute", false, "do it; without this the plan is shown")
	option.Var(fs, &c.drain, "drain", "ID,...", "brokers that are to keep nothing")
	option.Default(fs, &c.topics, "topics", "REGEX", ".*", "topics whose partitions may move")
	option.Var(fs, &c.internal, "internal-replication-factor", "N", "least replicas of the internal topics; 3, or as many as there are brokers")
	option.Var(fs, &c.factor, "replication-factor", "N", "least replicas of the other topics; as many as each has")
	option.Default(fs, &c.together, "concurrency", "N", "20", "how many partitions move at once")
	option.Default(fs, &c.throttle, "throttle", "BYTES", "-1", "most bytes a second that a broker sends and receives for it")
}

// orders are the command line as read.
type orders struct {
	drain            []int32
	topics           *regexp.Regexp
	internal, factor int
	together         int
	throttle         int64
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "bootstrap-server"); err != nil {
		return err
	}
	o, err := c.orders()
	if err != nil {
		return option.Fail("troupe rebalance: %s", err)
	}
	client, err := c.conn.Open("adminclient-1", s.Err)
	if err != nil {
		return err
	}
	defer client.Close()
	moves, astray, err := o.plan(ctx, client)
	switch {
	case ctx.Err() != nil:
		return option.Silent()
	case err != nil:
		return option.Fail("troupe rebalance: %s", err)
	case option.JSON(fs) && !fs.Changed("execute"):
		return option.WriteJSON(s, documentOf(moves))
	}
	if err := tell(s, moves, astray); err != nil || len(moves)+len(astray) == 0 {
		return err
	}
	if !fs.Changed("execute") {
		fmt.Fprintln(s.Out, "Nothing was changed; to do it, add --execute.")
		return nil
	}
	return (&execution{client: client, streams: s, orders: o, moves: moves, astray: astray}).run(ctx)
}

func (c *command) orders() (*orders, error) {
	o := &orders{}
	for _, text := range strings.Split(c.drain.Last(), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--drain %s: expected numbers of brokers between commas", c.drain.Last())
		}
		o.drain = append(o.drain, int32(id))
	}
	var err error
	if o.topics, err = regexp.Compile("^(?:" + c.topics.Last() + ")$"); err != nil {
		return nil, fmt.Errorf("--topics %s: %w", c.topics.Last(), err)
	}
	for _, n := range []struct {
		name  string
		text  *option.Text
		into  *int
		least int64
	}{{"internal-replication-factor", &c.internal, &o.internal, 1}, {"replication-factor", &c.factor, &o.factor, 1}, {"concurrency", &c.together, &o.together, 1}} {
		v, err := n.text.Int(32, 0)
		if err != nil || n.text.Given() && v < n.least {
			return nil, fmt.Errorf("--%s %s: expected a number of at least %d", n.name, n.text.Last(), n.least)
		}
		*n.into = int(v)
	}
	if o.throttle, err = c.throttle.Int(64, -1); err != nil {
		return nil, fmt.Errorf("--throttle %s: expected a number of bytes a second", c.throttle.Last())
	}
	return o, nil
}

// usualFactor is how many replicas internal topics have where there are as many brokers (offsets.topic.replication.factor).
const usualFactor = 3

// plan reads the cluster and decides. A broker that is fenced is not told of and so counts as gone; that is refused, since
// it may be back in a minute. Astray are the partitions that stay where they are and are led by another than their first
// replica: an election brings them home.
func (o *orders) plan(ctx context.Context, client *connection.Client) (moves []rebalance.Move, astray []model.TopicPartition, err error) {
	ongoing, err := assignment.Ongoing(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	if len(ongoing) > 0 {
		return nil, nil, fmt.Errorf("%d reassignments are under way; wait for them (reassign-partitions --list) or cancel them first", len(ongoing))
	}
	found, err := assignment.Read(ctx, client, nil)
	if err != nil {
		return nil, nil, err
	}
	var brokers []rebalance.Broker
	for _, b := range found.Brokers {
		brokers = append(brokers, rebalance.Broker{ID: model.BrokerID(b.ID), Rack: b.Rack, Draining: slices.Contains(o.drain, b.ID)})
	}
	if away := o.away(found); len(away) > 0 {
		return nil, nil, fmt.Errorf("the brokers %v hold replicas and do not serve; start them, or name those that are gone for ever in --drain", away)
	}
	left := len(slices.DeleteFunc(slices.Clone(brokers), func(b rebalance.Broker) bool { return b.Draining }))
	var partitions []rebalance.Partition
	for _, p := range found.Partitions {
		if !o.topics.MatchString(p.Topic) {
			continue
		}
		one := rebalance.Partition{TopicPartition: p.TopicPartition, Factor: o.factor}
		for _, id := range p.Replicas {
			one.Replicas = append(one.Replicas, model.BrokerID(id))
		}
		if strings.HasPrefix(p.Topic, "__") {
			if one.Factor = o.internal; one.Factor == 0 {
				one.Factor = min(usualFactor, left)
			}
		}
		partitions = append(partitions, one)
		if p.Leader >= 0 && p.Leader != p.Replicas[0] {
			astray = append(astray, p.TopicPartition)
		}
	}
	moves, err = rebalance.Plan(brokers, partitions)
	astray = slices.DeleteFunc(astray, func(tp model.TopicPartition) bool {
		return slices.ContainsFunc(moves, func(m rebalance.Move) bool { return m.TopicPartition == tp })
	})
	return moves, astray, err
}

// away lists brokers that hold replicas, do not serve, and are not said to be drained.
func (o *orders) away(c *assignment.Cluster) []int32 {
	var away []int32
	for _, p := range c.Partitions {
		for _, id := range p.Replicas {
			serves := slices.ContainsFunc(c.Brokers, func(b assignment.Broker) bool { return b.ID == id })
			if !serves && !slices.Contains(o.drain, id) && !slices.Contains(away, id) {
				away = append(away, id)
			}
		}
	}
	slices.Sort(away)
	return away
}
