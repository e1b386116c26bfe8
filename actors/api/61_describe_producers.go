package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog/producer"
)

// DescribeProducers (key 61), version 0 (KIP-664).
//
// Ordering key: the partition.
// Errors a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 6 NOT_LEADER_OR_FOLLOWER, 17 INVALID_TOPIC_EXCEPTION, 29
// TOPIC_AUTHORIZATION_FAILED.
var describeProducers = &Handler{
	Key: 61, Name: "DescribeProducers", Min: 0, Max: 0, On: OnBroker,
	Order:  Order{Keys: describeProducersKeys, Pipelined: true},
	Access: Access{Read, OnTopic},
	Handle: handleDescribeProducers,
}

// handleDescribeProducers asks all replicas at once and answers when the last one has.
func handleDescribeProducers(n *Node, r *Request) {
	req := r.Body.(*kmsg.DescribeProducersRequest)
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	resp.Topics = make([]kmsg.DescribeProducersResponseTopic, len(req.Topics))
	g := newGather(func() { r.Reply(resp) })
	for i := range req.Topics {
		asked, t := &req.Topics[i], &resp.Topics[i]
		t.Topic, t.Partitions = asked.Topic, make([]kmsg.DescribeProducersResponseTopicPartition, len(asked.Partitions))
		whole := n.producersRefused(r, asked.Topic)
		for j, partition := range asked.Partitions {
			out := &t.Partitions[j]
			*out = kmsg.NewDescribeProducersResponseTopicPartition()
			out.Partition = partition
			code, _ := kerr.Of(whole)
			out.ErrorCode, out.ErrorMessage = int16(code), errorMessage(whole)
			if whole == nil {
				n.describeProducers(r, asked.Topic, partition, out, g)
			}
		}
	}
	g.arrive()
}

// producersRefused is what is wrong with a topic as a whole; only then there is a message (measured on Kafka 4.3.1).
func (n *Node) producersRefused(r *Request, topic string) error {
	if err := checkTopicName(topic); err != nil {
		return err
	}
	if !n.Authorizer.Allowed(r.Client, Read, OnTopic, topic) {
		return kerr.TopicAuthorizationFailed
	}
	if _, there := n.Image().Topic(topic); !there {
		return kerr.UnknownTopicOrPartition
	}
	return nil
}

// describeProducers asks the replica, whose state changes with every batch: a published copy would cost each append.
func (n *Node) describeProducers(r *Request, topic string, partition int32, out *kmsg.DescribeProducersResponseTopicPartition, g *gather) {
	h := n.Replicas.Get(model.TopicPartition{Topic: topic, Partition: partition})
	if h == nil {
		out.ErrorCode = int16(n.absentPartition(topic, partition))
		return
	}
	g.expect()
	h.SendCaused(r.Cause, &replica.DescribeProducers{Done: func(entries []producer.Entry, code kerr.Code) {
		out.ErrorCode = int16(code)
		for _, e := range entries {
			p := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
			p.ProducerID, p.ProducerEpoch, p.LastSequence = int64(e.ProducerID), int32(e.Epoch), int32(e.LastSequence)
			p.LastTimestamp, p.CoordinatorEpoch = e.TimestampMs, int32(e.CoordinatorEpoch)
			p.CurrentTxnStartOffset = int64(e.TxnFirstOffset)
			out.ActiveProducers = append(out.ActiveProducers, p)
		}
		g.arrive()
	}})
}

// describeProducersKeys makes the answer show what this connection produced before.
func describeProducersKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.DescribeProducersRequest)
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			dst = append(dst, partitionKey(req.Topics[i].Topic, p))
		}
	}
	return dst
}
