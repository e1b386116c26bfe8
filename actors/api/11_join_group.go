package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/group"
	"troupe/actors/group/record"
	"troupe/codec/kerr"
)

// JoinGroup (key 11), versions 0-9. The group's coordinator answers when the group's next generation begins.
//
// Ordering key: the group.
// Errors: -1 UNKNOWN_SERVER_ERROR, 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 23
// INCONSISTENT_GROUP_PROTOCOL, 24 INVALID_GROUP_ID, 25 UNKNOWN_MEMBER_ID, 26 INVALID_SESSION_TIMEOUT, 30
// GROUP_AUTHORIZATION_FAILED, 79 MEMBER_ID_REQUIRED, 81 GROUP_MAX_SIZE_REACHED, 82 FENCED_INSTANCE_ID. Beside an error
// stand generation -1 and no protocol.
var joinGroup = &Handler{
	Key: 11, Name: "JoinGroup", Min: 0, Max: 9, On: OnBroker, Waits: true,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		return append(dst, groupKey(body.(*kmsg.JoinGroupRequest).Group))
	}},
	Access: Access{Read, OnGroup},
	Handle: func(n *Node, r *Request) {
		req := r.Body.(*kmsg.JoinGroupRequest)
		if code := n.Groups.Options.CheckJoin(req); code != kerr.None {
			r.Reply(group.Refuse(req, code))
			return
		}
		if newIDTooLong(r.ClientID, req) {
			r.Reply(group.Refuse(req, kerr.UnknownServerError))
			return
		}
		n.ofGroup(r, Read, req.Group)
	},
}

// newIDTooLong tells whether the member's id to be, PREFIX-UUID, would not fit in a record. Kafka finds out when it
// writes the reply (measured: -1).
func newIDTooLong(clientID string, r *kmsg.JoinGroupRequest) bool {
	prefix := clientID
	if r.InstanceID != nil {
		prefix = *r.InstanceID
	}
	const uuid = 36
	return r.MemberID == "" && len(prefix)+1+uuid > record.NameMax
}
