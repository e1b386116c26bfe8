package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// OffsetForLeaderEpoch (key 23), versions 2-4: where an epoch ends in the leader's log, by which consumers and
// followers find out that theirs left it (KIP-320).
//
// Ordering key: the partition.
// Errors a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 6 NOT_LEADER_OR_FOLLOWER, 29 TOPIC_AUTHORIZATION_FAILED, 56
// KAFKA_STORAGE_ERROR, 74 FENCED_LEADER_EPOCH, 75 UNKNOWN_LEADER_EPOCH. An epoch that the leader does not know is no
// error: epoch and offset -1 (measured on Kafka 4.3.1).
var offsetForLeaderEpoch = &Handler{
	Key: 23, Name: "OffsetForLeaderEpoch", Min: 2, Max: 4, On: OnBroker,
	Order:  Order{Keys: offsetForLeaderEpochKeys, Pipelined: true},
	Access: Access{Describe, OnTopic},
	Handle: handleOffsetForLeaderEpoch,
}

func handleOffsetForLeaderEpoch(n *Node, r *Request) {
	req := r.Body.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	// Repeats are answered each in its place, unlike those of ListOffsets (measured).
	for i := range req.Topics {
		t := kmsg.NewOffsetForLeaderEpochResponseTopic()
		t.Topic = req.Topics[i].Topic
		allowed := n.Authorizer.Allowed(r.Client, Describe, OnTopic, t.Topic)
		for j := range req.Topics[i].Partitions {
			asked := &req.Topics[i].Partitions[j]
			p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			p.Partition = asked.Partition
			code := kerr.TopicAuthorizationFailed
			if allowed {
				code = n.epochEnd(t.Topic, asked, &p)
			}
			p.ErrorCode = int16(code)
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	r.Reply(resp)
}

// epochEnd answers with the largest epoch that is not above the one asked for: the reader cuts its log at the end that
// comes with it, or asks again for the epoch before (KIP-279).
func (n *Node) epochEnd(topic string, asked *kmsg.OffsetForLeaderEpochRequestTopicPartition, out *kmsg.OffsetForLeaderEpochResponseTopicPartition) kerr.Code {
	_, view, code := n.leading(topic, asked.Partition, model.LeaderEpoch(asked.CurrentLeaderEpoch))
	if code != kerr.None {
		return code
	}
	epoch, end := view.EpochEnd(model.LeaderEpoch(asked.LeaderEpoch))
	out.LeaderEpoch, out.EndOffset = int32(epoch), int64(end)
	return kerr.None
}

func offsetForLeaderEpochKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.OffsetForLeaderEpochRequest)
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			dst = append(dst, partitionKey(req.Topics[i].Topic, p.Partition))
		}
	}
	return dst
}
