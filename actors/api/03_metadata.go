package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Metadata (key 3), versions 0-13. A barrier on its connection: it may create topics.
//
// Errors a topic: 3 UNKNOWN_TOPIC_OR_PARTITION, 5 LEADER_NOT_AVAILABLE (being created), 17 INVALID_TOPIC_EXCEPTION, 29
// TOPIC_AUTHORIZATION_FAILED, 100 UNKNOWN_TOPIC_ID; 42 INVALID_REQUEST for ids before version 12. A partition: 5
// LEADER_NOT_AVAILABLE, 72 LISTENER_NOT_FOUND.
var metadata = &Handler{
	Key: 3, Name: "Metadata", Min: 0, Max: 13, On: OnBroker,
	Access: Access{Describe, OnTopic},
	Handle: handleMetadata,
}

func handleMetadata(n *Node, r *Request) {
	req := r.Body.(*kmsg.MetadataRequest)
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

// autoCreateCode is what a client hears when its topic could not be made: it asks again, unless the name is at fault.
func autoCreateCode(c kerr.Code) kerr.Code {
	switch c {
	case kerr.InvalidTopicException, kerr.InvalidReplicationFactor, kerr.PolicyViolation:
		return c
	default:
		return kerr.LeaderNotAvailable
	}
}

// missingTopics lists the topics that the request asks for by name and that it may create.
func (n *Node) missingTopics(r *Request, req *kmsg.MetadataRequest) []string {
	if !n.Config.Topics.AutoCreate || r.Version >= 4 && !req.AllowAutoTopicCreation {
		return nil
	}
	var names []string
	for _, t := range req.Topics {
		if t.Topic == nil {
			continue
		}
		_, there := n.Image().Topic(*t.Topic)
		if !there && !slices.Contains(names, *t.Topic) && n.Authorizer.Allowed(r.Client, Create, OnTopic, *t.Topic) {
			names = append(names, *t.Topic)
		}
	}
	return names
}

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

// metadataView answers one Metadata request from one image.
type metadataView struct {
	node   *Node
	img    *image.Image
	r      *Request
	req    *kmsg.MetadataRequest
	failed map[string]kerr.Code
}

// topics lists what was asked for: null means all, and so does an empty list in version 0.
func (m *metadataView) topics() []kmsg.MetadataResponseTopic {
	if m.req.Topics == nil || m.r.Version == 0 && len(m.req.Topics) == 0 {
		all := make([]kmsg.MetadataResponseTopic, 0, m.img.TopicCount())
		for t := range m.img.Topics("") {
			if m.node.Authorizer.Allowed(m.r.Client, Describe, OnTopic, t.Name) {
				all = append(all, m.topic(t))
			}
		}
		return all
	}
	out := make([]kmsg.MetadataResponseTopic, 0, len(m.req.Topics))
	for i := range m.req.Topics {
		out = append(out, m.asked(&m.req.Topics[i]))
	}
	return out
}

func (m *metadataView) asked(t *kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	byID := !model.TopicID(t.TopicID).IsZero()
	switch {
	case byID && m.r.Version < 12:
		return m.failure(t, kerr.InvalidRequest)
	case byID:
		topic, ok := m.img.TopicByID(t.TopicID)
		if !ok {
			return m.failure(t, kerr.UnknownTopicID)
		}
		return m.topic(topic)
	case t.Topic == nil: // neither name nor id (measured)
		return m.failure(t, kerr.UnknownServerError)
	}
	if !m.node.Authorizer.Allowed(m.r.Client, Describe, OnTopic, *t.Topic) {
		return m.failure(t, kerr.TopicAuthorizationFailed)
	}
	if topic, ok := m.img.Topic(*t.Topic); ok {
		return m.topic(topic)
	}
	if code, ok := m.failed[*t.Topic]; ok {
		return m.failure(t, code)
	}
	if controller.CheckTopicName(*t.Topic) != nil {
		return m.failure(t, kerr.InvalidTopicException)
	}
	return m.failure(t, kerr.UnknownTopicOrPartition)
}

func (m *metadataView) failure(asked *kmsg.MetadataRequestTopic, code kerr.Code) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.ErrorCode, t.Topic, t.TopicID = int16(code), asked.Topic, asked.TopicID
	if t.Topic == nil && m.r.Version < 12 {
		t.Topic = kmsg.StringPtr("")
	}
	t.IsInternal = t.Topic != nil && internalTopic(*t.Topic)
	return t
}

func (m *metadataView) topic(topic *image.Topic) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID, t.IsInternal = &topic.Name, topic.ID, internalTopic(topic.Name)
	t.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(topic.Partitions))
	for i, p := range topic.Partitions {
		t.Partitions[i] = m.partition(int32(i), p)
	}
	if m.req.IncludeTopicAuthorizedOperations {
		t.AuthorizedOperations = topicOperations
	}
	return t
}

func (m *metadataView) partition(number int32, p *image.Partition) kmsg.MetadataResponseTopicPartition {
	out := kmsg.NewMetadataResponseTopicPartition()
	out.Partition, out.Leader, out.LeaderEpoch = number, int32(p.Leader), int32(p.LeaderEpoch)
	out.Replicas, out.ISR = ids(p.Replicas), ids(p.ISR)
	out.OfflineReplicas = m.node.offline(m.img, p)
	out.ErrorCode = int16(m.node.leaderCode(m.img, m.r.Client, p))
	if out.ErrorCode != 0 {
		out.Leader = -1
	}
	return out
}

// leaderCode tells why a client cannot reach a partition's leader.
func (n *Node) leaderCode(img *image.Image, c *Client, p *image.Partition) kerr.Code {
	leader, ok := img.Broker(p.Leader)
	if p.Leader == model.NoBroker || !ok || leader.Fenced {
		return kerr.LeaderNotAvailable
	}
	if _, ok := leader.Endpoint(c.Listener); !ok {
		return kerr.ListenerNotFound
	}
	return kerr.None
}

// offline lists the replicas whose broker is not there to serve them.
func (n *Node) offline(img *image.Image, p *image.Partition) []int32 {
	var out []int32
	for _, id := range p.Replicas {
		if b, ok := img.Broker(id); !ok || b.Fenced {
			out = append(out, int32(id))
		}
	}
	return out
}

func ids(list []model.BrokerID) []int32 {
	out := make([]int32, len(list))
	for i, id := range list {
		out[i] = int32(id)
	}
	return out
}
