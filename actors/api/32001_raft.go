package api

import (
	"troupe/actors/controller"
	"troupe/cluster/quorum"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/internal/model"
)

// Raft (key 32001), version 0: messages of the metadata quorum from one voter to another. They go into one mailbox in the order
// in which they came; no barrier, since only other nodes send them.
//
// Errors: 125 INVALID_VOTER_KEY where the sender is not whom it claims to be, or means a node or a directory that is not
// this one.
var raft = &Handler{
	Key: 32001, Name: "Raft", Min: 0, Max: 0, Peers: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: handleRaft,
}

// handleRaft answers when the messages have been passed on: what raft has to say to them are messages of its own. The zero
// directory stands for any in a quorum whose voters have none (kraft.version 0).
func handleRaft(n *Node, r *Request) {
	req := r.Body.(*private.RaftRequest)
	resp := req.ResponseKind().(*private.RaftResponse)
	if !names(r.Client.Peer, req.FromID, req.FromDirectory) || !names(new(n.Self()), req.ToID, req.ToDirectory) {
		resp.ErrorCode = int16(kerr.InvalidVoterKey)
		r.Reply(resp)
		return
	}
	n.Controller.SendCaused(r.Cause, &controller.Raft{
		From: quorum.VoterKey{ID: req.FromID, Directory: req.FromDirectory}, Messages: req.Messages,
	})
	r.Reply(resp)
}

// names tells whether a voter's key means that node.
func names(node *private.Identity, id model.BrokerID, directory model.DirectoryID) bool {
	return id == node.NodeID && (directory.IsZero() || directory == node.Directory)
}
