package reassignpartitions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"troupe/cluster/placement"
	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// generate proposes a new place for every partition of some topics, spread over the brokers of a list as those of a new
// topic would be. Where the first one starts is drawn anew each time.
func (c *command) generate(ctx context.Context) error {
	text, err := read(&c.topics)
	if err != nil {
		return err
	}
	ids, err := parseBrokers(c.brokers.Last())
	if err != nil {
		return err
	}
	topics, err := parseTopics(text)
	if err != nil {
		return err
	}
	found, err := c.described(ctx, topics)
	if err != nil {
		return err
	}
	candidates, err := among(found.Brokers, ids, !c.fs.Changed("disable-rack-aware"))
	if err != nil {
		return err
	}
	now, proposed, err := propose(found.Partitions, candidates, rand.IntN)
	if err != nil {
		return err
	}
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, map[string]any{"current": now, "proposed": proposed})
	}
	dirs, err := c.whereTheyLie(ctx, now, found.Brokers)
	if err != nil {
		return err
	}
	current, err := document(now, dirs)
	if err != nil {
		return err
	}
	next, err := document(proposed, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.streams.Out, "Current partition replica assignment\n%s\n\nProposed partition reassignment configuration\n%s\n", current, next)
	return err
}

// described reads topics that all have to exist.
func (c *command) described(ctx context.Context, topics []string) (*assignment.Cluster, error) {
	found, err := assignment.Read(ctx, c.client, append([]string{}, topics...))
	if err == nil && len(found.Missing) > 0 {
		err = unknown("Topic %s not found.", found.Missing[0])
	}
	return found, err
}

// unknown is what the script says of topics and partitions that there are not.
func unknown(format string, args ...any) error {
	return &kafkatext.Failure{Code: kerr.UnknownTopicOrPartition.Code, Text: fmt.Sprintf(format, args...)}
}

func parseBrokers(text string) ([]int32, error) {
	var ids []int32
	for _, part := range strings.Split(text, ",") {
		id, err := strconv.ParseInt(part, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("For input string: \"%s\"", part)
		}
		ids = append(ids, int32(id))
	}
	if again := repeated(ids); len(again) > 0 {
		return nil, fmt.Errorf("Broker list contains duplicate entries: %s", bracketed(again))
	}
	return ids, nil
}

// among picks brokers that serve. Racks count when all of them have one, or none is wanted.
func among(brokers []assignment.Broker, ids []int32, racks bool) ([]placement.Broker, error) {
	var chosen []placement.Broker
	rackless := 0
	for _, b := range brokers {
		if !slices.Contains(ids, b.ID) {
			continue
		}
		if b.Rack == "" {
			rackless++
		}
		one := placement.Broker{ID: model.BrokerID(b.ID)}
		if racks {
			one.Rack = b.Rack
		}
		chosen = append(chosen, one)
	}
	if racks && rackless > 0 && rackless < len(chosen) {
		return nil, fmt.Errorf("Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment without rack information.")
	}
	return chosen, nil
}

// propose keeps the number of replicas that each topic's first partition has.
func propose(partitions []assignment.Partition, brokers []placement.Broker, draw func(int) int) (now, proposed []assignment.Target, err error) {
	var placer *placement.Placer
	var factor int
	for i, p := range partitions {
		if i == 0 || partitions[i-1].Topic != p.Topic {
			placer, factor = placement.New(brokers, draw), len(p.Replicas)
		}
		replicas, err := placer.Next(factor)
		if err != nil {
			return nil, nil, err
		}
		target := assignment.Target{TopicPartition: p.TopicPartition}
		for _, id := range replicas {
			target.Replicas = append(target.Replicas, int32(id))
		}
		now = append(now, assignment.Target{TopicPartition: p.TopicPartition, Replicas: p.Replicas})
		proposed = append(proposed, target)
	}
	return now, proposed, nil
}
