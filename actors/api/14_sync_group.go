package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/group"
	"troupe/codec/kerr"
)

// SyncGroup (key 14), versions 0-5. The group's coordinator answers when the leader's assignment is committed.
//
// Ordering key: the group.
// Errors: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 22 ILLEGAL_GENERATION, 23
// INCONSISTENT_GROUP_PROTOCOL, also from version 5 on without the protocol's type and name (KIP-559), 24
// INVALID_GROUP_ID, 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 30 GROUP_AUTHORIZATION_FAILED, 82 FENCED_INSTANCE_ID.
var syncGroup = &Handler{
	Key: 14, Name: "SyncGroup", Min: 0, Max: 5, On: OnBroker, Waits: true,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		return append(dst, groupKey(body.(*kmsg.SyncGroupRequest).Group))
	}},
	Access: Access{Read, OnGroup},
	Handle: func(n *Node, r *Request) {
		req := r.Body.(*kmsg.SyncGroupRequest)
		if r.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
			r.Reply(group.Refuse(req, kerr.InconsistentGroupProtocol))
			return
		}
		n.ofNamedGroup(r, req.Group)
	},
}
