package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/controller"
	"troupe/codec/kerr"
)

// refuse answers a request with one code for all that it asks, the quorum's own requests too.
func refuse(body kmsg.Request, code kerr.Code) kmsg.Response {
	switch body.(type) {
	case *kmsg.AddRaftVoterRequest, *kmsg.RemoveRaftVoterRequest:
		return votersReply(body, code)
	case *kmsg.UpdateRaftVoterRequest:
		if code == kerr.NotController { // between voters it is a matter of the log's leader
			code = kerr.NotLeaderOrFollower
		}
		return votersReply(body, code)
	}
	req, ok := body.(*kmsg.DescribeQuorumRequest)
	if !ok {
		return controller.Refuse(body, code)
	}
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.SetVersion(req.GetVersion())
	resp.ErrorMessage = kmsg.StringPtr("")
	for _, asked := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = asked.Topic
		for _, p := range asked.Partitions {
			// Kafka's brokers have no other code for a quorum without leader.
			t.Partitions = append(t.Partitions, quorumFailure(p.Partition, kerr.NotLeaderOrFollower))
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
