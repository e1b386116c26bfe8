package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/group"
	"troupe/cluster/image"
	"troupe/codec/kerr"
)

// ConsumerGroupHeartbeat (key 68), versions 0-1 (KIP-848): members join, stay and leave by it, and are told what to
// consume. Version 1 has regular expressions that the broker resolves, and ids that members make (KIP-1082). The group's
// coordinator answers.
//
// Ordering key: the group.
// Errors: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 25 UNKNOWN_MEMBER_ID, 29
// TOPIC_AUTHORIZATION_FAILED, 30 GROUP_AUTHORIZATION_FAILED, 35 UNSUPPORTED_VERSION where group.version is 0, 42
// INVALID_REQUEST, 69 GROUP_ID_NOT_FOUND, 81 GROUP_MAX_SIZE_REACHED, 82 FENCED_INSTANCE_ID, 110 FENCED_MEMBER_EPOCH, 111
// UNRELEASED_INSTANCE_ID, 112 UNSUPPORTED_ASSIGNOR, 128 INVALID_REGULAR_EXPRESSION.
var consumerGroupHeartbeat = &Handler{
	Key: 68, Name: "ConsumerGroupHeartbeat", Min: 0, Max: 1, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		return append(dst, groupKey(body.(*kmsg.ConsumerGroupHeartbeatRequest).Group))
	}},
	Access: Access{Read, OnGroup},
	Handle: handleConsumerGroupHeartbeat,
}

// handleConsumerGroupHeartbeat judges in Kafka's order: the feature, permissions, the request by itself, the group.
func handleConsumerGroupHeartbeat(n *Node, r *Request) {
	req := r.Body.(*kmsg.ConsumerGroupHeartbeatRequest)
	switch {
	case !n.consumerGroups():
		r.Reply(group.Refuse(req, kerr.UnsupportedVersion))
	case !n.Authorizer.Allowed(r.Client, Read, OnGroup, req.Group):
		r.Reply(group.Refuse(req, kerr.GroupAuthorizationFailed))
	case !n.mayDescribe(r.Client, req.SubscribedTopicNames):
		r.Reply(group.Refuse(req, kerr.TopicAuthorizationFailed))
	default:
		if fault := n.Groups.Options.CheckHeartbeat(req); fault != nil {
			resp := group.Refuse(req, fault.Code).(*kmsg.ConsumerGroupHeartbeatResponse)
			resp.ErrorMessage = &fault.Detail
			r.Reply(resp)
			return
		}
		n.ofGroup(r, Read, req.Group)
	}
}

// consumerGroups tells whether the cluster has switched the protocol on.
func (n *Node) consumerGroups() bool { return n.Image().Feature(image.GroupVersionFeature) >= 1 }

func (n *Node) mayDescribe(c *Client, topics []string) bool {
	for _, name := range topics {
		if !n.Authorizer.Allowed(c, Describe, OnTopic, name) {
			return false
		}
	}
	return true
}
