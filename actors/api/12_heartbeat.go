package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/group"
	"troupe/codec/kerr"
)

// Heartbeat (key 12), versions 0-4. The group's coordinator answers.
//
// Ordering key: the group.
// Errors: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 22 ILLEGAL_GENERATION, 24
// INVALID_GROUP_ID, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 30 GROUP_AUTHORIZATION_FAILED, 82 FENCED_INSTANCE_ID.
var heartbeat = &Handler{
	Key: 12, Name: "Heartbeat", Min: 0, Max: 4, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		return append(dst, groupKey(body.(*kmsg.HeartbeatRequest).Group))
	}},
	Access: Access{Read, OnGroup},
	Handle: func(n *Node, r *Request) { n.ofNamedGroup(r, r.Body.(*kmsg.HeartbeatRequest).Group) },
}

// ofNamedGroup is ofGroup where a group must have a name: only commits, and what looks at or deletes them, take the
// empty one, which clients before groups used.
func (n *Node) ofNamedGroup(r *Request, id string) {
	if id == "" {
		r.Reply(group.Refuse(r.Body, kerr.InvalidGroupID))
		return
	}
	n.ofGroup(r, Read, id)
}
