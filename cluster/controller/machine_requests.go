package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/invariant"
)

// decide sends a request to its operation. Each stands in a file of its own, with its errors above it.
func (m *Machine) decide(at At, request kmsg.Request) outcome {
	switch r := request.(type) {
	case *kmsg.CreateTopicsRequest:
		return m.createTopics(r)
	case *kmsg.DeleteTopicsRequest:
		return m.deleteTopics(r)
	case *kmsg.CreatePartitionsRequest:
		return m.createPartitions(r)
	case *kmsg.AlterConfigsRequest:
		return m.alterConfigs(r)
	case *kmsg.IncrementalAlterConfigsRequest:
		return m.incrementalAlterConfigs(r)
	case *kmsg.UpdateFeaturesRequest:
		return m.updateFeatures(at, r)
	case *kmsg.AllocateProducerIDsRequest:
		return m.allocateProducerIDs(r)
	case *kmsg.BrokerRegistrationRequest:
		return m.registerBroker(at, r)
	case *kmsg.BrokerHeartbeatRequest:
		return m.heartbeat(at, r)
	case *kmsg.UnregisterBrokerRequest:
		return m.unregisterBroker(r)
	case *kmsg.ControllerRegistrationRequest:
		return m.registerController(r)
	case *kmsg.AlterPartitionRequest:
		return m.alterPartition(r)
	case *kmsg.ElectLeadersRequest:
		return m.electLeaders(r)
	case *kmsg.AlterPartitionAssignmentsRequest:
		return m.alterReassignments(r)
	case *kmsg.ListPartitionReassignmentsRequest:
		return m.listReassignments(r)
	case *kmsg.AssignReplicasToDirsRequest:
		return m.assignDirectories(r)
	}
	// A broker forwards only what it knows to be the controller's.
	invariant.Check(false, "controller: api key %d is not its own", request.Key())
	return outcome{}
}

// Refuse answers a request with one code for all that it asks: at the top where the reply has a place there, and
// otherwise for each thing named.
func Refuse(request kmsg.Request, code kerr.Code) kmsg.Response {
	response := request.ResponseKind()
	response.SetVersion(request.GetVersion())
	c := int16(code)
	switch resp := response.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range request.(*kmsg.CreateTopicsRequest).Topics {
			resp.Topics = append(resp.Topics, topicFailure(t.Topic, code))
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range deletions(request.(*kmsg.DeleteTopicsRequest)) {
			resp.Topics = append(resp.Topics, t.failure(code))
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range request.(*kmsg.CreatePartitionsRequest).Topics {
			resp.Topics = append(resp.Topics, partitionsFailure(t.Topic, code))
		}
	case *kmsg.AlterConfigsResponse:
		for _, r := range request.(*kmsg.AlterConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, alterResult(r.ResourceType, r.ResourceName, code))
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, r := range request.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, incrementalResult(r.ResourceType, r.ResourceName, code))
		}
	case *kmsg.UpdateFeaturesResponse:
		resp.ErrorCode, resp.ErrorMessage = c, sentence(code)
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = c
	case *kmsg.BrokerRegistrationResponse:
		resp.ErrorCode, resp.BrokerEpoch = c, -1
	case *kmsg.BrokerHeartbeatResponse:
		// Who cannot reach the controller must not believe that it may serve.
		resp.ErrorCode, resp.IsFenced = c, true
	case *kmsg.UnregisterBrokerResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message(code)
	case *kmsg.ControllerRegistrationResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message(code)
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = c
	case *kmsg.ElectLeadersResponse:
		resp.ErrorCode = c
	case *kmsg.AlterPartitionAssignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message(code)
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = c, message(code)
	case *kmsg.AssignReplicasToDirsResponse:
		resp.ErrorCode = c
	}
	return response
}

// reply makes the empty response of a request, in its version.
func reply[R kmsg.Response](request kmsg.Request) R {
	response := request.ResponseKind()
	response.SetVersion(request.GetVersion())
	return response.(R)
}

// message is the text that goes with an error in a reply, null where the code says it all.
func message(err error) *string {
	_, detail := kerr.Of(err)
	if detail == "" {
		return nil
	}
	return &detail
}

// sentence is message with the code's own text where there is no other, as some replies have it.
func sentence(err error) *string {
	if text := message(err); text != nil || codeOf(err) == int16(kerr.None) {
		return text
	}
	text := err.Error()
	return &text
}

// fail makes an error that names the thing.
func fail(code kerr.Code, detail string) error { return &kerr.Error{Code: code, Detail: detail} }

// codeOf is the wire form without the text.
func codeOf(err error) int16 {
	code, _ := kerr.Of(err)
	return int16(code)
}
