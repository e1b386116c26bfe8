package api

import (
	"troupe/codec/kerr"
	"troupe/codec/private"
)

// Hello (key 32000), version 0: the handshake of two nodes, the first request of a connection between them. A barrier on its
// connection, which answers requests concurrently and in any order from then on.
//
// Errors: 104 INCONSISTENT_CLUSTER_ID, 101 DUPLICATE_BROKER_REGISTRATION for another node with this one's node.id, 35
// UNSUPPORTED_VERSION where the two speak no common version; 42 INVALID_REQUEST for a second handshake. The message names
// both nodes.
var hello = &Handler{
	Key: 32000, Name: "Hello", Min: 0, Max: 0, On: OnNodes,
	Access: Access{Operation: Anything},
	Handle: handleHello,
}

// handleHello introduces this node to one that it refuses too: the other can say then whom it met.
func handleHello(n *Node, r *Request) {
	req := r.Body.(*private.HelloRequest)
	resp := req.ResponseKind().(*private.HelloResponse)
	self := n.Self()
	resp.Node = self
	err := self.Recognize(&req.Node)
	if r.Client.Peer != nil {
		err = &kerr.Error{Code: kerr.InvalidRequest, Detail: "the connection is introduced already"}
	}
	if err != nil {
		code, _ := kerr.Of(err)
		resp.ErrorCode, resp.Message = int16(code), errorMessage(err)
		n.Log.Warn("node refused", "host", r.Client.Host, "listener", r.Client.Listener, "reason", err)
		r.Reply(resp)
		return
	}
	r.Client.Peer = &req.Node
	r.Reply(resp)
	n.Peers.Met(req.Node.NodeID)
}
