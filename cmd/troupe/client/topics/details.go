package topics

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/codec/kerr"
)

// addConfigs asks for the configs of topics; those of every other source than the default are kept for show.
func (c *command) addConfigs(ctx context.Context, topics []*topic) error {
	req := kmsg.NewPtrDescribeConfigsRequest()
	byName := map[string]*topic{}
	for _, t := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, t.Name
		req.Resources = append(req.Resources, r)
		byName[t.Name] = t
	}
	resp, err := connection.Ask(ctx, c.client, "describeConfigs", req.RequestWith)
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := kafkatext.Answer(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
		t := byName[r.ResourceName]
		// The minimum is kept even if it is the default, because two reports compare with it.
		entries := map[string]*kmsg.DescribeConfigsResponseResourceConfig{}
		var names []string
		for i := range r.Configs {
			names = append(names, r.Configs[i].Name)
			entries[r.Configs[i].Name] = &r.Configs[i]
		}
		for _, name := range kafkatext.HashOrder(names, 0) { // as the script goes through them
			entry := entries[name]
			if entry.Name == "min.insync.replicas" && entry.Value != nil {
				if t.minISR, err = strconv.Atoi(*entry.Value); err != nil {
					return fmt.Errorf("min.insync.replicas of topic %s: %w", t.Name, err)
				}
			}
			if entry.Source != kmsg.ConfigSourceDefaultConfig {
				t.Configs = append(t.Configs, config{entry.Name, entry.Value})
			}
		}
	}
	return nil
}

// addReassignments marks partitions on the move. A cluster that cannot tell, or will not, has none.
func (c *command) addReassignments(ctx context.Context, topics []*topic) error {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = int32(c.client.Timeout.Milliseconds())
	for _, t := range topics {
		r := kmsg.NewListPartitionReassignmentsRequestTopic()
		r.Topic = t.Name
		for _, p := range t.Partitions {
			r.Partitions = append(r.Partitions, p.Partition)
		}
		req.Topics = append(req.Topics, r)
	}
	resp, err := connection.Ask(ctx, c.client, "listPartitionReassignments", req.RequestWith)
	if connection.Unsupported(err) {
		return nil
	}
	if err != nil {
		return err
	}
	switch kerr.Code(resp.ErrorCode) {
	case kerr.UnsupportedVersion, kerr.ClusterAuthorizationFailed:
		return nil
	}
	if err := kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return err
	}
	// Only partitions on the move are in the answer.
	moves := map[string]map[int32]*reassignment{}
	for _, t := range resp.Topics {
		moves[t.Topic] = map[int32]*reassignment{}
		for _, p := range t.Partitions {
			moves[t.Topic][p.Partition] = &reassignment{Adding: p.AddingReplicas, Removing: p.RemovingReplicas, replicas: p.Replicas}
		}
	}
	for _, t := range topics {
		for i := range t.Partitions {
			t.Partitions[i].Reassignment = moves[t.Name][t.Partitions[i].Partition]
		}
	}
	return nil
}
