package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Refused tells whether a response is that of Refuse: one code for all that was asked.
func Refused(response kmsg.Response, code kerr.Code) bool {
	c := int16(code)
	switch resp := response.(type) {
	case *kmsg.CreateTopicsResponse:
		return len(resp.Topics) > 0 && resp.Topics[0].ErrorCode == c
	case *kmsg.DeleteTopicsResponse:
		return len(resp.Topics) > 0 && resp.Topics[0].ErrorCode == c
	case *kmsg.CreatePartitionsResponse:
		return len(resp.Topics) > 0 && resp.Topics[0].ErrorCode == c
	case *kmsg.AlterConfigsResponse:
		return len(resp.Resources) > 0 && resp.Resources[0].ErrorCode == c
	case *kmsg.IncrementalAlterConfigsResponse:
		return len(resp.Resources) > 0 && resp.Resources[0].ErrorCode == c
	case *kmsg.UpdateFeaturesResponse:
		return resp.ErrorCode == c
	case *kmsg.AllocateProducerIDsResponse:
		return resp.ErrorCode == c
	case *kmsg.BrokerRegistrationResponse:
		return resp.ErrorCode == c
	case *kmsg.BrokerHeartbeatResponse:
		return resp.ErrorCode == c
	case *kmsg.UnregisterBrokerResponse:
		return resp.ErrorCode == c
	case *kmsg.ControllerRegistrationResponse:
		return resp.ErrorCode == c
	case *kmsg.AlterPartitionResponse:
		return resp.ErrorCode == c
	case *kmsg.ElectLeadersResponse:
		return resp.ErrorCode == c
	case *kmsg.AlterPartitionAssignmentsResponse:
		return resp.ErrorCode == c
	case *kmsg.ListPartitionReassignmentsResponse:
		return resp.ErrorCode == c
	case *kmsg.AssignReplicasToDirsResponse:
		return resp.ErrorCode == c
	case *kmsg.AddRaftVoterResponse:
		return resp.ErrorCode == c
	case *kmsg.RemoveRaftVoterResponse:
		return resp.ErrorCode == c
	}
	return false
}
