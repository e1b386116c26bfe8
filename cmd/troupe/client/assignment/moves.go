package assignment

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// Move is a reassignment under way: all replicas while it lasts, those that come and those that go.
type Move struct{ Replicas, Adding, Removing []int32 }

// Ongoing lists the reassignments of the cluster.
func Ongoing(ctx context.Context, client *connection.Client) (map[model.TopicPartition]Move, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = int32(client.Timeout.Milliseconds())
	resp, err := connection.Ask(ctx, client, "listPartitionReassignments", req.RequestWith)
	if err == nil {
		err = kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage)
	}
	if err != nil {
		return nil, err
	}
	found := map[model.TopicPartition]Move{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			found[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = Move{p.Replicas, p.AddingReplicas, p.RemovingReplicas}
		}
	}
	return found, nil
}

// Target is where a partition is to be; nil Replicas cancel what is under way.
type Target struct {
	model.TopicPartition
	Replicas []int32
}

// Alter begins or cancels reassignments, and gives what went wrong with single ones. mayChangeFactor allows other numbers
// of replicas than there are (KIP-860).
func Alter(ctx context.Context, client *connection.Client, targets []Target, mayChangeFactor bool) (map[model.TopicPartition]error, error) {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis, req.AllowReplicationFactorChange = int32(client.Timeout.Milliseconds()), mayChangeFactor
	at := map[string]int{} // where a topic stands in the request
	for _, target := range targets {
		i, known := at[target.Topic]
		if !known {
			i = len(req.Topics)
			at[target.Topic] = i
			topic := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			topic.Topic = target.Topic
			req.Topics = append(req.Topics, topic)
		}
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		p.Partition, p.Replicas = target.Partition, target.Replicas
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	resp, err := connection.Ask(ctx, client, "alterPartitionReassignments", req.RequestWith)
	if err == nil {
		err = kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage)
	}
	if err != nil {
		return nil, err
	}
	failed := map[model.TopicPartition]error{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kafkatext.Answer(p.ErrorCode, p.ErrorMessage); err != nil {
				failed[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = err
			}
		}
	}
	return failed, nil
}
