package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/codec/kerr"
)

// AlterConfigs (key 33), versions 0-2. The controller answers for what this broker does not refuse; a barrier on its
// connection.
//
// Errors a resource: 3 UNKNOWN_TOPIC_OR_PARTITION, 17 INVALID_TOPIC_EXCEPTION, 29 TOPIC_AUTHORIZATION_FAILED, 31
// CLUSTER_AUTHORIZATION_FAILED, 40 INVALID_CONFIG, 42 INVALID_REQUEST, 44 POLICY_VIOLATION.
var alterConfigs = &Handler{
	Key: 33, Name: "AlterConfigs", Min: 0, Max: 2, On: OnBroker | OnController,
	Access: Access{AlterConfigsOp, OnCluster},
	Handle: handleAlterConfigs,
}

// handleAlterConfigs answers each resource on its own, in the order of the request, whoever answered it. The controller
// is asked once, so that what it takes of a request is one change.
func handleAlterConfigs(n *Node, r *Request) {
	req := r.Body.(*kmsg.AlterConfigsRequest)
	all := make([]alteration, len(req.Resources))
	for i := range req.Resources {
		asked := &req.Resources[i]
		all[i] = alteration{kind: asked.ResourceType, name: asked.ResourceName}
		for _, c := range asked.Configs {
			if c.Value == nil {
				all[i].nulls = append(all[i].nulls, c.Name)
			}
		}
	}
	markRepeated(all)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	resp.Resources = make([]kmsg.AlterConfigsResponseResource, len(all))
	rest := *req
	rest.Resources = nil
	var forwarded []int // places in the request of what the controller is asked
	for i := range all {
		res := kmsg.NewAlterConfigsResponseResource()
		res.ResourceType, res.ResourceName = all[i].kind, all[i].name
		if err := n.refuse(r, &all[i]); err != nil {
			code, _ := kerr.Of(err)
			res.ErrorCode, res.ErrorMessage = int16(code), errorMessage(err)
		} else {
			forwarded = append(forwarded, i)
			rest.Resources = append(rest.Resources, req.Resources[i])
		}
		resp.Resources[i] = res
	}
	if len(forwarded) == 0 {
		r.Reply(resp)
		return
	}
	n.Controller.SendCaused(r.Cause, &controller.Request{Body: &rest, Done: func(answer kmsg.Response) {
		for i, res := range answer.(*kmsg.AlterConfigsResponse).Resources {
			resp.Resources[forwarded[i]] = res
		}
		r.Reply(resp)
	}})
}
