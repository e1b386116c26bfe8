package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/group"
	"troupe/codec/kerr"
)

// ConsumerGroupDescribe (key 69), versions 0-1 (KIP-848); version 1 tells the kind of each member (KIP-1099). The groups'
// coordinators answer, from what is committed.
//
// Ordering key: the group.
// Errors a group: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 24 INVALID_GROUP_ID,
// 29 TOPIC_AUTHORIZATION_FAILED, 30 GROUP_AUTHORIZATION_FAILED, 35 UNSUPPORTED_VERSION where group.version is 0, 69
// GROUP_ID_NOT_FOUND where there is none or one of another kind.
var consumerGroupDescribe = &Handler{
	Key: 69, Name: "ConsumerGroupDescribe", Min: 0, Max: 1, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		for _, id := range body.(*kmsg.ConsumerGroupDescribeRequest).Groups {
			dst = append(dst, groupKey(id))
		}
		return dst
	}},
	Access: Access{Describe, OnGroup},
	Handle: handleConsumerGroupDescribe,
}

func handleConsumerGroupDescribe(n *Node, r *Request) {
	req := r.Body.(*kmsg.ConsumerGroupDescribeRequest)
	if !n.consumerGroups() {
		r.Reply(group.Refuse(req, kerr.UnsupportedVersion))
		return
	}
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(req.Groups))
	g := newGather(func() { r.Reply(resp) })
	for i, id := range req.Groups {
		one := *req
		one.Groups = []string{id}
		g.expect()
		take := func(answer kmsg.Response) {
			resp.Groups[i] = answer.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
			n.hideTopics(r.Client, &resp.Groups[i])
			g.arrive()
		}
		if id == "" {
			take(group.Refuse(&one, kerr.InvalidGroupID))
			continue
		}
		n.askGroup(r, Describe, id, &one, take)
	}
	g.arrive()
}

// hideTopics keeps the members of a group from a client that may not see all the topics that they are subscribed to.
func (n *Node) hideTopics(c *Client, g *kmsg.ConsumerGroupDescribeResponseGroup) {
	for _, m := range g.Members {
		if n.mayDescribe(c, m.SubscribedTopics) {
			continue
		}
		text := "The group has described topic(s) that the client is not authorized to describe."
		g.ErrorCode, g.ErrorMessage, g.Members = int16(kerr.TopicAuthorizationFailed), &text, []kmsg.ConsumerGroupDescribeResponseGroupMember{}
		return
	}
}
