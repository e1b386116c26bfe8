package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// OffsetCommit (key 8), versions 2-10; topics by id from version 10 on. The group's coordinator answers.
//
// Ordering key: the group.
// Errors a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 12 OFFSET_METADATA_TOO_LARGE, 14 COORDINATOR_LOAD_IN_PROGRESS, 15
// COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 22 ILLEGAL_GENERATION, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 29
// TOPIC_AUTHORIZATION_FAILED, 30 GROUP_AUTHORIZATION_FAILED, 69 GROUP_ID_NOT_FOUND, 82 FENCED_INSTANCE_ID, 100
// UNKNOWN_TOPIC_ID.
var offsetCommit = &Handler{
	Key: 8, Name: "OffsetCommit", Min: 2, Max: 10, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		return append(dst, groupKey(body.(*kmsg.OffsetCommitRequest).Group))
	}},
	Access: Access{Read, OnGroup},
	Handle: handleOffsetCommit,
}

// handleOffsetCommit answers itself for what is not there, and has the rest committed.
func handleOffsetCommit(n *Node, r *Request) {
	req := r.Body.(*kmsg.OffsetCommitRequest)
	var refused []kmsg.OffsetCommitResponseTopic
	known := *req
	known.Topics = nil
	for i := range req.Topics {
		topic, missing := n.commitTopic(r, &req.Topics[i])
		if len(topic.Partitions) > 0 {
			known.Topics = append(known.Topics, topic)
		}
		if len(missing.Partitions) > 0 {
			refused = append(refused, missing)
		}
	}
	if len(known.Topics) == 0 && len(refused) > 0 {
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		resp.Topics = refused
		r.Reply(resp)
		return
	}
	n.askGroup(r, Read, req.Group, &known, func(resp kmsg.Response) {
		answer := resp.(*kmsg.OffsetCommitResponse)
		answer.Topics = append(answer.Topics, refused...)
		r.Reply(answer)
	})
}

// commitTopic parts what is there of a topic, by name, from the answer for what is not.
func (n *Node) commitTopic(r *Request, asked *kmsg.OffsetCommitRequestTopic) (kmsg.OffsetCommitRequestTopic, kmsg.OffsetCommitResponseTopic) {
	there, missing := *asked, kmsg.NewOffsetCommitResponseTopic()
	there.Partitions = nil
	missing.Topic, missing.TopicID = asked.Topic, asked.TopicID
	name, code := n.knownTopic(r, asked.Topic, asked.TopicID, r.Version >= 10)
	there.Topic = name
	if t, ok := n.Image().Topic(name); ok {
		there.TopicID = t.ID // is recorded, also where the request has the name (measured)
	}
	for _, p := range asked.Partitions {
		why := code
		if _, ok := n.Image().Partition(model.TopicPartition{Topic: name, Partition: p.Partition}); why == kerr.None && !ok {
			why = kerr.UnknownTopicOrPartition
		}
		if why == kerr.None {
			there.Partitions = append(there.Partitions, p)
			continue
		}
		out := kmsg.NewOffsetCommitResponseTopicPartition()
		out.Partition, out.ErrorCode = p.Partition, int16(why)
		missing.Partitions = append(missing.Partitions, out)
	}
	return there, missing
}
