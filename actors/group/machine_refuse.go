package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Refuse makes the reply of a request that fails as a whole.
func (m *Machine) Refuse(r kmsg.Request, code kerr.Code) kmsg.Response { return Refuse(r, code) }

// Refuse makes the reply of a request that fails as a whole: with the code at the top where the reply has a place
// there, and else for each thing named.
func Refuse(r kmsg.Request, code kerr.Code) kmsg.Response {
	c := int16(code)
	switch r := r.(type) {
	case *kmsg.JoinGroupRequest:
		return joinFailure(r, code)
	case *kmsg.SyncGroupRequest:
		resp := response[*kmsg.SyncGroupResponse](r)
		resp.ErrorCode, resp.MemberAssignment = c, []byte{}
		return resp
	case *kmsg.HeartbeatRequest:
		resp := response[*kmsg.HeartbeatResponse](r)
		// While the partition is loaded nobody's session runs, and Java's consumer knows no such error of a heartbeat: Kafka
		// tells it that all is well (measured).
		if code != kerr.CoordinatorLoadInProgress {
			resp.ErrorCode = c
		}
		return resp
	case *kmsg.LeaveGroupRequest:
		resp := response[*kmsg.LeaveGroupResponse](r)
		resp.ErrorCode = c
		return resp
	case *kmsg.OffsetCommitRequest:
		return refuseCommit(r, c)
	case *kmsg.OffsetFetchRequest:
		return refuseFetch(r, c)
	case *kmsg.OffsetDeleteRequest:
		resp := response[*kmsg.OffsetDeleteResponse](r)
		resp.ErrorCode = c
		return resp
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return heartbeatFailure(r, code, "")
	case *kmsg.ConsumerGroupDescribeRequest:
		resp := response[*kmsg.ConsumerGroupDescribeResponse](r)
		for _, id := range r.Groups {
			g := kmsg.NewConsumerGroupDescribeResponseGroup()
			g.Group, g.ErrorCode = id, c
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	case *kmsg.DescribeGroupsRequest:
		resp := response[*kmsg.DescribeGroupsResponse](r)
		for _, id := range r.Groups {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.ErrorCode = id, c
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	case *kmsg.ListGroupsRequest:
		resp := response[*kmsg.ListGroupsResponse](r)
		resp.ErrorCode = c
		return resp
	case *kmsg.DeleteGroupsRequest:
		resp := response[*kmsg.DeleteGroupsResponse](r)
		for _, id := range r.Groups {
			g := kmsg.NewDeleteGroupsResponseGroup()
			g.Group, g.ErrorCode = id, c
			resp.Groups = append(resp.Groups, g)
		}
		return resp
	}
	return r.ResponseKind()
}

// refuseCommit names each partition: the reply has no place for a code of the whole.
func refuseCommit(r *kmsg.OffsetCommitRequest, code int16) kmsg.Response {
	resp := response[*kmsg.OffsetCommitResponse](r)
	for i := range r.Topics {
		t := kmsg.NewOffsetCommitResponseTopic()
		t.Topic, t.TopicID = r.Topics[i].Topic, r.Topics[i].TopicID
		for j := range r.Topics[i].Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = r.Topics[i].Partitions[j].Partition, code
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// refuseFetch puts the code at the top, for each group, or in version 1, which has no place there, for each partition.
func refuseFetch(r *kmsg.OffsetFetchRequest, code int16) kmsg.Response {
	resp := response[*kmsg.OffsetFetchResponse](r)
	for i := range r.Groups {
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group, g.ErrorCode = r.Groups[i].Group, code
		resp.Groups = append(resp.Groups, g)
	}
	if r.Version >= 2 {
		resp.ErrorCode = code
		return resp
	}
	for _, asked := range r.Topics {
		t := kmsg.NewOffsetFetchResponseTopic()
		t.Topic = asked.Topic
		for _, number := range asked.Partitions {
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.ErrorCode = number, -1, -1, code
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
