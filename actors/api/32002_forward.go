package api

import (
	"troupe/actors/controller"
	"troupe/codec/private"
)

// Forward (key 32002), version 0: a request that another broker's client made of the controller. A barrier for nobody: nodes
// answer each other in any order.
//
// Errors: 35 UNSUPPORTED_VERSION for a request that is not the controller's, 42 INVALID_REQUEST for one that cannot be read;
// what the controller refuses stands in the reply that is carried.
var forwarded = &Handler{
	Key: 32002, Name: "Forward", Min: 0, Max: 0, Peers: true, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: handleForward,
}

func handleForward(n *Node, r *Request) {
	request := controller.Forwarded(r.Body.(*private.ForwardRequest), n.Image, func(resp *private.ForwardResponse) { r.Reply(resp) })
	if request != nil {
		n.Controller.SendCaused(r.Cause, request)
	}
}
