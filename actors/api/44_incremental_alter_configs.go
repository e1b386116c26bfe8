package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/codec/kerr"
)

// IncrementalAlterConfigs (key 44), versions 0-1 (KIP-339). The controller answers for what this broker does not
// refuse; a barrier on its connection.
//
// Errors a resource: 3 UNKNOWN_TOPIC_OR_PARTITION, 17 INVALID_TOPIC_EXCEPTION, 29 TOPIC_AUTHORIZATION_FAILED, 31
// CLUSTER_AUTHORIZATION_FAILED, 40 INVALID_CONFIG, 42 INVALID_REQUEST, 44 POLICY_VIOLATION.
var incrementalAlterConfigs = &Handler{
	Key: 44, Name: "IncrementalAlterConfigs", Min: 0, Max: 1, On: OnBroker | OnController,
	Access: Access{AlterConfigsOp, OnCluster},
	Handle: handleIncrementalAlterConfigs,
}

// handleIncrementalAlterConfigs answers each resource on its own, in the order of the request, whoever answered it. The controller
// is asked once, so that what it takes of a request is one change.
func handleIncrementalAlterConfigs(n *Node, r *Request) {
	req := r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	all := make([]alteration, len(req.Resources))
	for i := range req.Resources {
		asked := &req.Resources[i]
		all[i] = alteration{kind: asked.ResourceType, name: asked.ResourceName}
		for _, c := range asked.Configs {
			if c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete {
				all[i].nulls = append(all[i].nulls, c.Name)
			}
		}
	}
	markRepeated(all)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	resp.Resources = make([]kmsg.IncrementalAlterConfigsResponseResource, len(all))
	rest := *req
	rest.Resources = nil
	var forwarded []int // places in the request of what the controller is asked
	for i := range all {
		res := kmsg.NewIncrementalAlterConfigsResponseResource()
		res.ResourceType, res.ResourceName = all[i].kind, all[i].name
		err := n.refuse(r, &all[i])
		if all[i].kind == kmsg.ConfigResourceTypeBrokerLogger {
			err = n.refuseLogger(&req.Resources[i])
		}
		if err != nil {
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
		for i, res := range answer.(*kmsg.IncrementalAlterConfigsResponse).Resources {
			resp.Resources[forwarded[i]] = res
		}
		r.Reply(resp)
	}})
}

// refuseLogger says why a logger's level is not changed: there is one logger, and it keeps the level of the start.
func (n *Node) refuseLogger(asked *kmsg.IncrementalAlterConfigsRequestResource) error {
	if err := n.ownID(asked.ResourceName, ""); err != nil {
		return err
	}
	for _, c := range asked.Configs {
		if c.Name != rootLogger {
			return &kerr.Error{Code: kerr.InvalidConfig, Detail: "Logger " + c.Name + " does not exist!"}
		}
	}
	return &kerr.Error{Code: kerr.InvalidRequest, Detail: "The level of the root logger is set by log.level when the broker starts."}
}
