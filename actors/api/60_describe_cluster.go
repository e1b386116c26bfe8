package api

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// DescribeCluster (key 60), versions 0-2 (KIP-700, KIP-919, KIP-1073). A barrier on its connection.
//
// Errors: 31 CLUSTER_AUTHORIZATION_FAILED, 114 MISMATCHED_ENDPOINT_TYPE when a broker's listener is asked for
// controllers or the other way round, 115 UNSUPPORTED_ENDPOINT_TYPE.
var describeCluster = &Handler{
	Key: 60, Name: "DescribeCluster", Min: 0, Max: 2, On: OnBroker | OnController,
	Access: Access{Describe, OnCluster},
	Handle: handleDescribeCluster,
}

// The endpoint types of KIP-919.
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// handleDescribeCluster tells a broker's client some broker as the controller, since every broker forwards; only a
// controller's listener tells who leads.
func handleDescribeCluster(n *Node, r *Request) {
	req := r.Body.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	if err := checkEndpoint(req.EndpointType, r); err != nil {
		code, _ := kerr.Of(err)
		resp.ErrorCode, resp.ErrorMessage = int16(code), errorMessage(err)
		r.Reply(resp)
		return
	}
	resp.ClusterID = n.Image().ClusterID
	if r.Client.Controller {
		resp.EndpointType = controllerEndpoints
		n.controllers(r.Client, resp)
	} else {
		resp.ControllerID = n.someBroker(r.Client)
		n.describedBrokers(r.Client, req.IncludeFencedBrokers, resp)
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	r.Reply(resp)
}

// checkEndpoint holds the endpoint type against the listener that was asked; before version 1 there is none.
func checkEndpoint(asked int8, r *Request) error {
	names := map[int8]string{brokerEndpoints: "BROKER", controllerEndpoints: "CONTROLLER"}
	here := int8(brokerEndpoints)
	if r.Client.Controller {
		here = controllerEndpoints
	}
	switch {
	case asked == here || r.Version == 0:
		return nil
	case names[asked] == "":
		return &kerr.Error{Code: kerr.UnsupportedEndpointType, Detail: "Unsupported endpoint type " + strconv.Itoa(int(asked))}
	default:
		return &kerr.Error{Code: kerr.MismatchedEndpointType, Detail: "The request was sent to an endpoint of type " + names[here] +
			", but we wanted an endpoint of type " + names[asked]}
	}
}

// describedBrokers leaves out who does not listen where the client came in: it has no address there.
func (n *Node) describedBrokers(c *Client, fencedToo bool, resp *kmsg.DescribeClusterResponse) {
	for b := range n.Image().Brokers() {
		e, reachable := b.Endpoint(c.Listener)
		if !reachable || b.Fenced && !fencedToo {
			continue
		}
		out := kmsg.NewDescribeClusterResponseBroker()
		out.NodeID, out.Host, out.Port, out.Rack, out.IsFenced = int32(b.ID), e.Host, int32(e.Port), b.Rack, b.Fenced
		resp.Brokers = append(resp.Brokers, out)
	}
}

// controllers lists the registered controllers that have the client's listener; the leader is told as the controller.
func (n *Node) controllers(c *Client, resp *kmsg.DescribeClusterResponse) {
	resp.ControllerID = int32(n.Quorum().Leader)
	for reg := range n.Image().Controllers() {
		for _, e := range reg.Endpoints {
			if e.Name != c.Listener {
				continue
			}
			out := kmsg.NewDescribeClusterResponseBroker()
			out.NodeID, out.Host, out.Port = int32(reg.ControllerID), e.Host, int32(e.Port)
			resp.Brokers = append(resp.Brokers, out)
		}
	}
}
