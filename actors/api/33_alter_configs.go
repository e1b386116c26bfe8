package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/configs"
)

// AlterConfigs (key 33), versions 0-2. The controller answers for what this broker does not refuse; a barrier on its
// connection.
//
// Errors a resource: 3 UNKNOWN_TOPIC_OR_PARTITION, 17 INVALID_TOPIC_EXCEPTION, 29 TOPIC_AUTHORIZATION_FAILED, 31
// CLUSTER_AUTHORIZATION_FAILED, 40 INVALID_CONFIG, 42 INVALID_REQUEST, 44 POLICY_VIOLATION.
var alterConfigs = &Handler{
	Key: 33, Name: "AlterConfigs", Min: 0, Max: 2, On: OnBroker | OnController, Waits: true,
	Access: Access{AlterConfigsOp, OnCluster},
	Handle: handleAlterConfigs,
}

// handleAlterConfigs refuses a null, for which the older request has no meaning.
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
			if asked.ResourceType == kmsg.ConfigResourceTypeBroker && asked.ResourceName != "" {
				all[i].changes = append(all[i].changes, configs.Change{Key: c.Name, Op: configs.Set, Value: c.Value})
			}
		}
	}
	markRepeated(all)
	relay(n, r, req.Resources, alterForm[kmsg.AlterConfigsRequestResource, kmsg.AlterConfigsResponseResource]{
		refuse: func(i int) error { return n.refuse(r, &all[i]) },
		answer: func(i int, err error) kmsg.AlterConfigsResponseResource {
			res := kmsg.NewAlterConfigsResponseResource()
			res.ResourceType, res.ResourceName, res.ErrorMessage = all[i].kind, all[i].name, errorMessage(err)
			code, _ := kerr.Of(err)
			res.ErrorCode = int16(code)
			return res
		},
		forward: func(left []kmsg.AlterConfigsRequestResource) kmsg.Request {
			rest := *req
			rest.Resources = left
			return &rest
		},
		answers: func(answer kmsg.Response) []kmsg.AlterConfigsResponseResource {
			return answer.(*kmsg.AlterConfigsResponse).Resources
		},
		reply: func(told []kmsg.AlterConfigsResponseResource) {
			resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
			resp.Resources = told
			r.Reply(resp)
		},
	})
}
