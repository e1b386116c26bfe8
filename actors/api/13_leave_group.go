package api

import "github.com/twmb/franz-go/pkg/kmsg"

// LeaveGroup (key 13), versions 0-5: one member up to version 2, a list of them from version 3 on (KIP-345). The
// group's coordinator answers.
//
// Ordering key: the group.
// Errors: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 24 INVALID_GROUP_ID, 30
// GROUP_AUTHORIZATION_FAILED. A member (at the top up to version 2): 25 UNKNOWN_MEMBER_ID, 82 FENCED_INSTANCE_ID.
var leaveGroup = &Handler{
	Key: 13, Name: "LeaveGroup", Min: 0, Max: 5, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		return append(dst, groupKey(body.(*kmsg.LeaveGroupRequest).Group))
	}},
	Access: Access{Read, OnGroup},
	Handle: func(n *Node, r *Request) { n.ofNamedGroup(r, r.Body.(*kmsg.LeaveGroupRequest).Group) },
}
