package reassignpartitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

const (
	othersUnderWay = terse("Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a new partition " +
		"assignment in addition to the existing one. The --additional flag can also be used to change the throttle by resubmitting the current reassignment.")
	verifyLater = "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)

// execute begins the moves. Throttles are set before, since a move that has begun may be over at full speed.
func (c *command) execute(ctx context.Context) error {
	all, err := c.moves()
	if err != nil {
		return err
	}
	if err := executable(all); err != nil {
		return err
	}
	within, err := c.timeout.Int(64, 10_000)
	if err != nil {
		return err
	}
	ongoing, err := assignment.Ongoing(ctx, c.client)
	if err != nil {
		return err
	}
	if len(ongoing) > 0 && !c.fs.Changed("additional") {
		return othersUnderWay
	}
	current, brokers, err := c.placed(ctx, all)
	if err != nil {
		return err
	}
	dirs, err := c.whereTheyLie(ctx, current, brokers)
	if err != nil {
		return err
	}
	if err := c.tellCurrent(current, dirs); err != nil {
		return err
	}
	if err := c.limit(ctx, all, ongoing, current); err != nil {
		return err
	}
	started, err := c.reassign(ctx, all)
	if err != nil {
		return err
	}
	moving, err := c.moveWithin(ctx, named(all), within)
	if err == nil && option.JSON(c.fs) {
		err = option.WriteJSON(c.streams, map[string]any{"started": started, "startedLogDirs": replicaNames(moving)})
	}
	return err
}

// reassign begins the moves between brokers.
func (c *command) reassign(ctx context.Context, all []move) (started []string, err error) {
	var targets []assignment.Target
	for _, m := range all {
		targets = append(targets, assignment.Target{TopicPartition: m.partition(), Replicas: m.Replicas})
	}
	slices.SortFunc(targets, byPartition)
	failed, err := assignment.Alter(ctx, c.client, targets, !c.fs.Changed("disallow-replication-factor-change"))
	if err != nil {
		return nil, err
	}
	if len(failed) > 0 {
		return nil, terse("Error reassigning partition(s):\n" + failures(failed))
	}
	started = names(targets)
	c.say(fmt.Sprintf("Successfully started partition reassignment%s for %s", plural(len(targets)), strings.Join(started, ",")))
	return started, nil
}

func (c *command) moves() ([]move, error) {
	text, err := read(&c.file)
	if err != nil {
		return nil, err
	}
	return parseMoves(text)
}

// placed finds where the partitions are now; every broker and partition that is named must be there.
func (c *command) placed(ctx context.Context, all []move) (current []assignment.Target, brokers []assignment.Broker, err error) {
	topics := map[string]bool{}
	for _, m := range all {
		topics[m.Topic] = true
	}
	found, err := c.described(ctx, slices.Sorted(maps.Keys(topics)))
	if err != nil {
		return nil, nil, err
	}
	var missing []string
	for _, m := range all {
		for _, id := range m.Replicas {
			if !slices.ContainsFunc(found.Brokers, func(b assignment.Broker) bool { return b.ID == id }) {
				return nil, nil, fmt.Errorf("Unknown broker id %d", id)
			}
		}
		i := slices.IndexFunc(found.Partitions, func(p assignment.Partition) bool { return p.TopicPartition == m.partition() })
		if i < 0 {
			missing = append(missing, m.partition().String())
			continue
		}
		current = append(current, assignment.Target{TopicPartition: m.partition(), Replicas: found.Partitions[i].Replicas})
	}
	if len(missing) > 0 {
		return nil, nil, unknown("Unable to find partition: %s", strings.Join(missing, ", "))
	}
	return current, found.Brokers, nil
}

// whereTheyLie asks the brokers that serve for the log directories of replicas.
func (c *command) whereTheyLie(ctx context.Context, all []assignment.Target, brokers []assignment.Broker) (map[assignment.Replica]assignment.Directory, error) {
	var replicas []assignment.Replica
	for _, t := range all {
		for _, id := range t.Replicas {
			if slices.ContainsFunc(brokers, func(b assignment.Broker) bool { return b.ID == id }) {
				replicas = append(replicas, assignment.Replica{TopicPartition: t.TopicPartition, Broker: id})
			}
		}
	}
	return assignment.Directories(ctx, c.client, replicas)
}

// tellCurrent prints what brings everything back to where it is.
func (c *command) tellCurrent(current []assignment.Target, dirs map[assignment.Replica]assignment.Directory) error {
	if option.JSON(c.fs) {
		return nil
	}
	text, err := document(current, dirs)
	if err == nil {
		_, err = fmt.Fprintf(c.streams.Out, "Current partition replica assignment\n\n%s\n\nSave this to use as the --reassignment-json-file option during rollback\n", text)
	}
	return err
}

// limit sets the throttles that were asked for.
func (c *command) limit(ctx context.Context, all []move, ongoing map[model.TopicPartition]assignment.Move, current []assignment.Target) error {
	between, err := c.throttle.Int(64, -1)
	if err != nil {
		return err
	}
	within, err := c.dirThrottle.Int(64, -1)
	if err != nil {
		return err
	}
	if between < 0 && within < 0 {
		return nil
	}
	c.say(verifyLater)
	if between >= 0 {
		l := limitsOf(all, ongoing, current)
		if err := assignment.LimitReplicas(ctx, c.client, l.topics); err != nil {
			return err
		}
		if err := assignment.LimitBrokers(ctx, c.client, l.brokers, between); err != nil {
			return err
		}
		c.say(fmt.Sprintf("The inter-broker throttle limit was set to %d B/s", between))
	}
	if within >= 0 {
		var movers []int32
		for r := range named(all) {
			movers = append(movers, r.Broker)
		}
		slices.Sort(movers)
		if err := assignment.LimitDirectories(ctx, c.client, slices.Compact(movers), within); err != nil {
			return err
		}
		c.say(fmt.Sprintf("The replica-alter-dir throttle limit was set to %d B/s", within))
	}
	return nil
}

// say is for lines that are no part of a JSON document.
func (c *command) say(line string) {
	if !option.JSON(c.fs) {
		fmt.Fprintln(c.streams.Out, line)
	}
}

// limits are who and what a throttle holds for: brokers that send or receive, and replicas.
type limits struct {
	topics  []assignment.Throttled
	brokers []int32
}

// limitsOf covers the moves that are under way too: those it would leave out were unthrottled from now on. Sources are the
// replicas before the move, and destinations those that are added.
func limitsOf(all []move, ongoing map[model.TopicPartition]assignment.Move, current []assignment.Target) limits {
	sources, destinations := map[model.TopicPartition][]int32{}, map[model.TopicPartition][]int32{}
	for tp, m := range ongoing {
		sources[tp] = without(m.Replicas, m.Adding)
		destinations[tp] = m.Adding
	}
	for _, t := range current {
		if _, moving := ongoing[t.TopicPartition]; !moving {
			sources[t.TopicPartition] = t.Replicas
		}
	}
	for _, m := range all {
		destinations[m.partition()] = without(m.Replicas, sources[m.partition()])
	}
	leaders, followers := map[string][]string{}, map[string][]string{}
	var l limits
	for tp := range sources {
		for _, id := range sources[tp] {
			leaders[tp.Topic] = append(leaders[tp.Topic], fmt.Sprintf("%d:%d", tp.Partition, id))
		}
		for _, id := range destinations[tp] {
			followers[tp.Topic] = append(followers[tp.Topic], fmt.Sprintf("%d:%d", tp.Partition, id))
		}
		l.brokers = append(l.brokers, append(sources[tp], destinations[tp]...)...)
	}
	for _, topic := range slices.Sorted(maps.Keys(leaders)) {
		slices.Sort(leaders[topic])
		slices.Sort(followers[topic])
		l.topics = append(l.topics, assignment.Throttled{Topic: topic, Leaders: strings.Join(leaders[topic], ","), Followers: strings.Join(followers[topic], ",")})
	}
	slices.Sort(l.brokers)
	l.brokers = slices.Compact(l.brokers)
	return l
}

func without(ids, others []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return slices.Contains(others, id) })
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func names(targets []assignment.Target) []string {
	out := make([]string, len(targets))
	for i, t := range targets {
		out[i] = t.TopicPartition.String()
	}
	return out
}

// failures lists what went wrong, a line a partition.
func failures(failed map[model.TopicPartition]error) string {
	var lines []string
	for _, tp := range slices.SortedFunc(maps.Keys(failed), assignment.Compare) {
		lines = append(lines, fmt.Sprintf("%s: %s", tp, failed[tp]))
	}
	return strings.Join(lines, "\n")
}
