package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
)

// consumerGroups is a world that has switched the consumer protocol on.
func consumerGroups(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.groups(1)
	w.apply(&record.FeatureLevel{Name: image.GroupVersionFeature, Level: 1})
	return w
}

// joining is the first heartbeat of a member.
func joining(group, member string, topics ...string) *kmsg.ConsumerGroupHeartbeatRequest {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.MemberID, r.RebalanceTimeoutMillis = group, member, 60_000
	r.SubscribedTopicNames, r.Topics = append([]string{}, topics...), []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return r
}

func describingGroups(groups ...string) *kmsg.ConsumerGroupDescribeRequest {
	r := kmsg.NewPtrConsumerGroupDescribeRequest()
	r.Groups = groups
	return r
}

func TestWithoutTheFeatureTheConsumerProtocolIsNotSupported(t *testing.T) {
	w := newWorld(t)
	w.groups(1)
	expect(t, "heartbeat", ask[*kmsg.ConsumerGroupHeartbeatResponse](w, joining("g", "m", "t"), 1).ErrorCode, kerr.UnsupportedVersion)
	expect(t, "describe", ask[*kmsg.ConsumerGroupDescribeResponse](w, describingGroups("g"), 1).Groups[0].ErrorCode, kerr.UnsupportedVersion)
}

func TestAMemberThatJoinsIsDescribed(t *testing.T) {
	w := consumerGroups(t)
	joined := ask[*kmsg.ConsumerGroupHeartbeatResponse](w, joining("g", "m"), 1)
	// Kafka 4.3.1 answers the first heartbeat without topics with epoch 1 (facts/groups-txn.md, "Measured").
	if joined.ErrorCode != 0 || joined.MemberEpoch != 1 || joined.HeartbeatIntervalMillis != 5000 {
		t.Fatalf("joined with %+v", joined)
	}
	resp := ask[*kmsg.ConsumerGroupDescribeResponse](w, describingGroups("g", "h", ""), 1)
	if g := resp.Groups[0]; g.ErrorCode != 0 || g.Group != "g" || g.AssignorName != "uniform" || len(g.Members) != 1 || g.Members[0].MemberID != "m" || g.Members[0].MemberType != 1 {
		t.Errorf("described as %+v", g)
	}
	expect(t, "a group that is not there", resp.Groups[1].ErrorCode, kerr.GroupIDNotFound)
	expect(t, "a group without a name", resp.Groups[2].ErrorCode, kerr.InvalidGroupID)
}

func TestAHeartbeatThatIsWrongByItselfIsToldWhy(t *testing.T) {
	w := consumerGroups(t)
	r := joining("g", "m", "t")
	r.RebalanceTimeoutMillis = -1
	resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](w, r, 1)
	expect(t, "without a rebalance timeout", resp.ErrorCode, kerr.InvalidRequest)
	// The words are those of Kafka 4.3.1.
	if resp.ErrorMessage == nil || *resp.ErrorMessage != "RebalanceTimeoutMs must be provided in first request." {
		t.Errorf("message %v", resp.ErrorMessage)
	}
	r = joining("g", "m", "t")
	r.ServerAssignor = kmsg.StringPtr("sticky")
	expect(t, "an assignor that is not there", ask[*kmsg.ConsumerGroupHeartbeatResponse](w, r, 1).ErrorCode, kerr.UnsupportedAssignor)
}

// except refuses one operation on one resource.
type except struct {
	op   Operation
	on   Resource
	name string
}

func (e except) Allowed(_ *Client, op Operation, on Resource, name string) bool {
	return op != e.op || on != e.on || name != e.name
}

func TestWhoMayNotSeeTheTopicsOfAConsumerGroupIsRefused(t *testing.T) {
	w := consumerGroups(t)
	w.topic("hidden", 1)
	expect(t, "joining", ask[*kmsg.ConsumerGroupHeartbeatResponse](w, joining("g", "m", "hidden"), 1).ErrorCode, kerr.None)
	w.node.Authorizer = except{Describe, OnTopic, "hidden"}
	expect(t, "joining", ask[*kmsg.ConsumerGroupHeartbeatResponse](w, joining("g", "n", "hidden"), 1).ErrorCode, kerr.TopicAuthorizationFailed)
	g := ask[*kmsg.ConsumerGroupDescribeResponse](w, describingGroups("g"), 1).Groups[0]
	expect(t, "describing", g.ErrorCode, kerr.TopicAuthorizationFailed)
	if len(g.Members) != 0 {
		t.Errorf("members are told nevertheless: %+v", g.Members)
	}
	w.node.Authorizer = except{Read, OnGroup, "g"}
	expect(t, "another group's", ask[*kmsg.ConsumerGroupHeartbeatResponse](w, joining("g", "n", "hidden"), 1).ErrorCode, kerr.GroupAuthorizationFailed)
}
