package api

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/codec/kerr"
)

// FindCoordinator (key 10), versions 0-6: one key up to version 3, a list of them from version 4 on (KIP-699). The topic
// of offsets is made when a group's coordinator is first looked for.
//
// Ordering key: the group or transactional id.
// Errors a key: 15 COORDINATOR_NOT_AVAILABLE while the group's partition has no leader, or the topic cannot be made; 30
// GROUP_AUTHORIZATION_FAILED; 42 INVALID_REQUEST for an unknown kind of key; 35 UNSUPPORTED_VERSION for transactional ids
// and share groups, which have no coordinator here. Beside an error stand node -1, no host and port -1.
var findCoordinator = &Handler{
	Key: 10, Name: "FindCoordinator", Min: 0, Max: 6, On: OnBroker, Coded: Versions{0, 3},
	Order:  Order{Keys: findCoordinatorKeys, Pipelined: true},
	Access: Access{Describe, OnGroup},
	Handle: handleFindCoordinator,
}

// The kinds of keys that have coordinators.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2 // KIP-932
)

const noCoordinators = "this broker has no transaction or share coordinator"

func handleFindCoordinator(n *Node, r *Request) {
	req := r.Body.(*kmsg.FindCoordinatorRequest)
	if req.CoordinatorType == groupCoordinator {
		if _, there := n.Image().Topic(OffsetsTopic); !there {
			n.createOffsetsTopic(r, func() { r.Reply(n.coordinators(r, req)) })
			return
		}
		n.tellGroupless(kerr.None)
	}
	r.Reply(n.coordinators(r, req))
}

// createOffsetsTopic makes the topic of offsets as offsets.topic.* say. What came of it is read from the metadata.
func (n *Node) createOffsetsTopic(r *Request, then func()) {
	cfg := n.Config.Groups
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = OffsetsTopic, cfg.OffsetsPartitions, cfg.OffsetsReplicationFactor
	for _, c := range [][2]string{
		{"cleanup.policy", "compact"}, {"compression.type", "producer"}, {"segment.bytes", strconv.Itoa(int(cfg.OffsetsSegmentBytes))},
	} {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: c[0], Value: &c[1]})
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis, create.Topics = 7, 30000, []kmsg.CreateTopicsRequestTopic{t}
	n.Controller.SendCaused(r.Cause, &controller.Request{Body: create, Done: func(resp kmsg.Response) {
		out := resp.(*kmsg.CreateTopicsResponse).Topics[0]
		n.tellGroupless(kerr.Code(out.ErrorCode), "offsets.topic.replication.factor", cfg.OffsetsReplicationFactor, "brokers", len(n.endpoints(r.Client)))
		then()
	}})
}

// tellGroupless tells once that, and why, the topic of offsets cannot be created, though clients try for as long as they wait, and
// once that it is over.
func (n *Node) tellGroupless(code kerr.Code, factors ...any) {
	if code == kerr.TopicAlreadyExists {
		code = kerr.None
	}
	before := kerr.Code(n.groupless.Load())
	switch {
	case code == before || !n.groupless.CompareAndSwap(int32(before), int32(code)): // another request tells
	case code == kerr.None:
		n.Log.Info("groups can be coordinated: " + OffsetsTopic + " is there")
	case code == kerr.InvalidReplicationFactor:
		n.Log.Error("groups cannot be coordinated: "+OffsetsTopic+" needs more brokers than there are", factors...)
	default:
		n.Log.Error("groups cannot be coordinated: "+OffsetsTopic+" cannot be created", "err", code)
	}
}

func (n *Node) coordinators(r *Request, req *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if r.Version < 4 {
		c := n.coordinatorOf(r, req.CoordinatorType, req.CoordinatorKey)
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, n.coordinatorOf(r, req.CoordinatorType, key))
	}
	return resp
}

// coordinatorOf gives the leader of the group's partition: that broker and no other knows the group.
func (n *Node) coordinatorOf(r *Request, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, -1, -1
	refuse := func(code kerr.Code, message string) kmsg.FindCoordinatorResponseCoordinator {
		c.ErrorCode, c.ErrorMessage = int16(code), &message
		return c
	}
	switch {
	case kind == transactionCoordinator, kind == shareCoordinator:
		return refuse(transactionsRefused, noCoordinators)
	case kind != groupCoordinator:
		return refuse(kerr.InvalidRequest, kerr.InvalidRequest.Error())
	case !n.Authorizer.Allowed(r.Client, Describe, OnGroup, key):
		return refuse(kerr.GroupAuthorizationFailed, kerr.GroupAuthorizationFailed.Error())
	}
	if partition, there := n.groupPartition(key); there {
		hint := n.leaderHint(OffsetsTopic, partition)
		for _, e := range n.endpoints(r.Client) {
			if hint != nil && e.ID == hint.id {
				c.NodeID, c.Host, c.Port = int32(e.ID), e.Host, e.Port
				return c
			}
		}
	}
	return refuse(kerr.CoordinatorNotAvailable, kerr.CoordinatorNotAvailable.Error())
}

func findCoordinatorKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	req := body.(*kmsg.FindCoordinatorRequest)
	if req.Version < 4 {
		return append(dst, coordinatorKey(req.CoordinatorType, req.CoordinatorKey))
	}
	for _, key := range req.CoordinatorKeys {
		dst = append(dst, coordinatorKey(req.CoordinatorType, key))
	}
	return dst
}
