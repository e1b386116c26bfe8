package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Metadata (key 3), versions 0-13. A barrier on its connection: it may create topics.
//
// Errors a topic: 3 UNKNOWN_TOPIC_OR_PARTITION, 5 LEADER_NOT_AVAILABLE (being created), 17 INVALID_TOPIC_EXCEPTION, 29
// TOPIC_AUTHORIZATION_FAILED, 100 UNKNOWN_TOPIC_ID; 42 INVALID_REQUEST for all of them when one is named by id before
// version 12. A partition: 5 LEADER_NOT_AVAILABLE, 72 LISTENER_NOT_FOUND since version 6.
var metadata = &Handler{
	Key: 3, Name: "Metadata", Min: 0, Max: 13, On: OnBroker, Coded: Versions{13, 13},
	Access: Access{Describe, OnTopic},
	Handle: handleMetadata,
}

func handleMetadata(n *Node, r *Request) {
	req := r.Body.(*kmsg.MetadataRequest)
	if r.Version < 12 && slices.ContainsFunc(req.Topics, namedByID) {
		r.Reply(idsTooEarly(req))
		return
	}
	missing := n.missingTopics(r, req)
	if len(missing) == 0 {
		r.Reply(n.metadataReply(r, req, nil))
		return
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	create.TimeoutMillis = 30000
	for _, name := range missing {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
		create.Topics = append(create.Topics, t)
	}
	n.Controller.SendCaused(r.Cause, &controller.Request{Body: create, Done: func(resp kmsg.Response) {
		failed := make(map[string]kerr.Code)
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if t.ErrorCode != 0 && kerr.Code(t.ErrorCode) != kerr.TopicAlreadyExists {
				failed[t.Topic] = autoCreateCode(kerr.Code(t.ErrorCode))
			}
		}
		r.Reply(n.metadataReply(r, req, failed))
	}})
}

// namedByID takes the zero id for none, as the protocol does.
func namedByID(t kmsg.MetadataRequestTopic) bool { return !model.TopicID(t.TopicID).IsZero() }

// idsTooEarly refuses a whole request and tells nothing of the cluster (measured on Kafka 4.3.1).
func idsTooEarly(req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	for i := range req.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = int16(kerr.InvalidRequest), req.Topics[i].Topic, req.Topics[i].TopicID
		if t.Topic == nil {
			t.Topic = kmsg.StringPtr("")
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// autoCreateCode is what a client hears when its topic could not be made. LEADER_NOT_AVAILABLE makes it ask again, which
// helps while the controller is away; what the topic itself is refused for would be refused again.
func autoCreateCode(c kerr.Code) kerr.Code {
	switch c {
	case kerr.InvalidTopicException, kerr.InvalidReplicationFactor, kerr.PolicyViolation:
		return c
	default:
		return kerr.LeaderNotAvailable
	}
}

// missingTopics lists the topics that the request asks for by name and that it may create. Internal topics are made by
// the coordinators that keep them, with configurations of their own.
func (n *Node) missingTopics(r *Request, req *kmsg.MetadataRequest) []string {
	if !n.Config.Topics.AutoCreate || r.Version >= 4 && !req.AllowAutoTopicCreation {
		return nil
	}
	var names []string
	seen := make(map[string]bool)
	for _, t := range req.Topics {
		if t.Topic == nil || namedByID(t) || internalTopic(*t.Topic) || seen[*t.Topic] {
			continue
		}
		seen[*t.Topic] = true
		_, there := n.Image().Topic(*t.Topic)
		if !there && n.Authorizer.Allowed(r.Client, Create, OnTopic, *t.Topic) {
			names = append(names, *t.Topic)
		}
	}
	return names
}

// metadataReply is made from one image, after what was missing is in it: the controller answers a creation when this
// broker has applied it.
func (n *Node) metadataReply(r *Request, req *kmsg.MetadataRequest, failed map[string]kerr.Code) *kmsg.MetadataResponse {
	img := n.Image()
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = r.Version
	resp.ClusterID = kmsg.StringPtr(img.ClusterID)
	resp.ControllerID = n.someBroker(r.Client)
	for _, e := range n.endpoints(r.Client) {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = int32(e.ID), e.Host, e.Port, e.Rack
		resp.Brokers = append(resp.Brokers, b)
	}
	if req.IncludeClusterAuthorizedOperations { // versions 8-10
		resp.AuthorizedOperations = clusterOperations
	}
	m := metadataView{node: n, img: img, r: r, req: req, failed: failed}
	resp.Topics = m.topics()
	return resp
}

// someBroker is what clients are told as the controller: a broker that forwards to it (facts/tools.md).
func (n *Node) someBroker(c *Client) int32 {
	for _, e := range n.endpoints(c) {
		if e.ID == n.ID {
			return int32(n.ID)
		}
	}
	return -1
}
