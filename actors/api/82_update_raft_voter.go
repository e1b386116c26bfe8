package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/cluster/quorum"
	"troupe/internal/model"
)

// UpdateRaftVoter (key 82), versions 0-0 (KIP-853): a voter tells of its listeners and of the versions that it supports. Between
// controllers only; the quorum's leader answers when the change is committed. A barrier on its connection.
//
// Errors: 6 NOT_LEADER_OR_FOLLOWER, 7 REQUEST_TIMED_OUT while another change is under way, 35 UNSUPPORTED_VERSION under
// kraft.version 0, 42 INVALID_REQUEST without the controllers' listener or the present kraft.version, 74 FENCED_LEADER_EPOCH, 75
// UNKNOWN_LEADER_EPOCH, 104 INCONSISTENT_CLUSTER_ID, 127 VOTER_NOT_FOUND.
var updateRaftVoter = &Handler{
	Key: 82, Name: "UpdateRaftVoter", Min: 0, Max: 0, On: OnController, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: handleUpdateRaftVoter,
}

// handleUpdateRaftVoter has this node go by what a voter says of itself at once, whether or not it leads.
func handleUpdateRaftVoter(n *Node, r *Request) {
	req := r.Body.(*kmsg.UpdateRaftVoterRequest)
	if p := r.Client.Peer; p != nil && names(p, model.BrokerID(req.VoterID), req.VoterDirectoryID) {
		v := controller.UpdatedVoter(req)
		n.Controller.SendCaused(r.Cause, &controller.Moved{Voter: quorum.VoterKey{ID: v.ID, Directory: v.DirectoryID}, Endpoints: v.Endpoints})
	}
	n.Controller.SendCaused(r.Cause, &controller.Request{Body: req, Local: true, Done: func(resp kmsg.Response) { r.Reply(resp) }})
}
