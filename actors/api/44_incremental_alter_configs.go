package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/configs"
)

// IncrementalAlterConfigs (key 44), versions 0-1 (KIP-339). The controller answers for what this broker does not
// refuse; a barrier on its connection.
//
// Errors a resource: 3 UNKNOWN_TOPIC_OR_PARTITION, 17 INVALID_TOPIC_EXCEPTION, 29 TOPIC_AUTHORIZATION_FAILED, 31
// CLUSTER_AUTHORIZATION_FAILED, 40 INVALID_CONFIG, 42 INVALID_REQUEST, 44 POLICY_VIOLATION.
var incrementalAlterConfigs = &Handler{
	Key: 44, Name: "IncrementalAlterConfigs", Min: 0, Max: 1, On: OnBroker | OnController, Waits: true,
	Access: Access{AlterConfigsOp, OnCluster},
	Handle: handleIncrementalAlterConfigs,
}

// handleIncrementalAlterConfigs takes a null only where a key is deleted.
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
			if asked.ResourceType == kmsg.ConfigResourceTypeBroker && asked.ResourceName != "" {
				all[i].changes = append(all[i].changes, configs.Change{Key: c.Name, Op: configs.Op(c.Op), Value: c.Value})
			}
		}
	}
	markRepeated(all)
	relay(n, r, req.Resources, alterForm[kmsg.IncrementalAlterConfigsRequestResource, kmsg.IncrementalAlterConfigsResponseResource]{
		refuse: func(i int) error {
			if all[i].kind == kmsg.ConfigResourceTypeBrokerLogger {
				return n.refuseLogger(&req.Resources[i])
			}
			return n.refuse(r, &all[i])
		},
		answer: func(i int, err error) kmsg.IncrementalAlterConfigsResponseResource {
			res := kmsg.NewIncrementalAlterConfigsResponseResource()
			res.ResourceType, res.ResourceName, res.ErrorMessage = all[i].kind, all[i].name, errorMessage(err)
			code, _ := kerr.Of(err)
			res.ErrorCode = int16(code)
			return res
		},
		forward: func(left []kmsg.IncrementalAlterConfigsRequestResource) kmsg.Request {
			rest := *req
			rest.Resources = left
			return &rest
		},
		answers: func(answer kmsg.Response) []kmsg.IncrementalAlterConfigsResponseResource {
			return answer.(*kmsg.IncrementalAlterConfigsResponse).Resources
		},
		reply: func(told []kmsg.IncrementalAlterConfigsResponseResource) {
			resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
			resp.Resources = told
			r.Reply(resp)
		},
	})
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
