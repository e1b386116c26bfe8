package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// FindCoordinator (key 10), versions 0-6: one key up to version 3, a list of them from version 4 on (KIP-699).
//
// Ordering key: the group or transactional id.
// Errors a key: 42 INVALID_REQUEST for an unknown kind of key, else 35 UNSUPPORTED_VERSION: this broker has no
// coordinators. Beside an error stand node -1, no host and port -1.
var findCoordinator = &Handler{
	Key: 10, Name: "FindCoordinator", Min: 0, Max: 6, On: OnBroker,
	Order:  Order{Keys: findCoordinatorKeys, Pipelined: true},
	Access: Access{Describe, OnGroup},
	Handle: handleFindCoordinator,
}

// The kinds of keys that have coordinators.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2 // KIP-932
)

const noCoordinators = "this broker has no group, transaction or share coordinator"

// handleFindCoordinator refuses without looking: 35 is not retriable, so that clients fail at once and say why, where
// COORDINATOR_NOT_AVAILABLE would have them ask for ever.
func handleFindCoordinator(_ *Node, r *Request) {
	req := r.Body.(*kmsg.FindCoordinatorRequest)
	code, message := transactionsRefused, noCoordinators
	switch req.CoordinatorType {
	case groupCoordinator, transactionCoordinator, shareCoordinator:
	default:
		code, message = kerr.InvalidRequest, kerr.InvalidRequest.Error()
	}
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if r.Version < 4 {
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
		resp.NodeID, resp.Port = -1, -1
	}
	for _, key := range req.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.ErrorCode, c.ErrorMessage = key, int16(code), &message
		c.NodeID, c.Port = -1, -1
		resp.Coordinators = append(resp.Coordinators, c)
	}
	r.Reply(resp)
}

func findCoordinatorKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.FindCoordinatorRequest)
	if req.Version < 4 {
		return append(dst, coordinatorKey(req.CoordinatorType, req.CoordinatorKey))
	}
	for _, key := range req.CoordinatorKeys {
		dst = append(dst, coordinatorKey(req.CoordinatorType, key))
	}
	return dst
}
