package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/group"
	"troupe/codec/kerr"
)

// OffsetDelete (key 47), version 0 (KIP-496). The group's coordinator answers.
//
// Ordering key: the group.
// Errors: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 24 INVALID_GROUP_ID, 30
// GROUP_AUTHORIZATION_FAILED, 68 NON_EMPTY_GROUP, 69 GROUP_ID_NOT_FOUND. A partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 29
// TOPIC_AUTHORIZATION_FAILED, 86 GROUP_SUBSCRIBED_TO_TOPIC.
var offsetDelete = &Handler{
	Key: 47, Name: "OffsetDelete", Min: 0, Max: 0, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		return append(dst, groupKey(body.(*kmsg.OffsetDeleteRequest).Group))
	}},
	Access: Access{DeleteOp, OnGroup},
	Handle: handleOffsetDelete,
}

// handleOffsetDelete answers itself for topics that are not there, and has the rest deleted.
func handleOffsetDelete(n *Node, r *Request) {
	req := r.Body.(*kmsg.OffsetDeleteRequest)
	if req.Group == "" { // though such a group can commit, and be deleted as a whole
		r.Reply(group.Refuse(req, kerr.InvalidGroupID))
		return
	}
	var refused []kmsg.OffsetDeleteResponseTopic
	known := *req
	known.Topics = nil
	for _, t := range req.Topics {
		code := kerr.None
		if !n.Authorizer.Allowed(r.Client, Read, OnTopic, t.Topic) {
			code = kerr.TopicAuthorizationFailed
		} else if _, there := n.Image().Topic(t.Topic); !there {
			code = kerr.UnknownTopicOrPartition
		}
		if code == kerr.None {
			known.Topics = append(known.Topics, t)
			continue
		}
		out := kmsg.NewOffsetDeleteResponseTopic()
		out.Topic = t.Topic
		for _, each := range t.Partitions {
			p := kmsg.NewOffsetDeleteResponseTopicPartition()
			p.Partition, p.ErrorCode = each.Partition, int16(code)
			out.Partitions = append(out.Partitions, p)
		}
		refused = append(refused, out)
	}
	n.askGroup(r, DeleteOp, req.Group, &known, func(resp kmsg.Response) {
		answer := resp.(*kmsg.OffsetDeleteResponse)
		if answer.ErrorCode == 0 {
			answer.Topics = append(answer.Topics, refused...)
		}
		r.Reply(answer)
	})
}
