package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/codec/private"
)

// Forwarded makes the request that another node passed on. The answer is given when this node has applied what it tells of,
// and says how far that is: what the metadata has come to by then includes it. A request that cannot be read is answered
// at once, and nil returned.
func Forwarded(r *private.ForwardRequest, latest func() *image.Image, reply func(*private.ForwardResponse)) *Request {
	body := kmsg.RequestForKey(r.RequestKey)
	if body == nil || !handles(body) || r.RequestVersion < 0 || r.RequestVersion > body.MaxVersion() {
		reply(&private.ForwardResponse{ErrorCode: int16(kerr.UnsupportedVersion)})
		return nil
	}
	body.SetVersion(r.RequestVersion)
	if err := body.ReadFrom(r.Body); err != nil {
		reply(&private.ForwardResponse{ErrorCode: int16(kerr.InvalidRequest)})
		return nil
	}
	return &Request{Body: body, Local: true, Done: func(resp kmsg.Response) {
		reply(&private.ForwardResponse{Applied: latest().Offset, Body: resp.AppendTo(nil)})
	}}
}

// handles tells whether a request is the controller's or the quorum's.
func handles(body kmsg.Request) bool {
	if between(body) {
		return true
	}
	switch body.(type) {
	case *kmsg.DescribeQuorumRequest, *kmsg.AddRaftVoterRequest, *kmsg.RemoveRaftVoterRequest, *kmsg.CreateTopicsRequest, *kmsg.DeleteTopicsRequest, *kmsg.CreatePartitionsRequest, *kmsg.AlterConfigsRequest,
		*kmsg.IncrementalAlterConfigsRequest, *kmsg.UpdateFeaturesRequest, *kmsg.UnregisterBrokerRequest, *kmsg.ElectLeadersRequest,
		*kmsg.AlterPartitionAssignmentsRequest, *kmsg.ListPartitionReassignmentsRequest:
		return true
	}
	return false
}
