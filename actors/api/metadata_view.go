package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// metadataView answers one Metadata request from one image.
type metadataView struct {
	node   *Node
	img    *image.Image
	r      *Request
	req    *kmsg.MetadataRequest
	failed map[string]kerr.Code
}

// topics lists what was asked for, once each: null means all, and so does an empty list in version 0.
func (m *metadataView) topics() []kmsg.MetadataResponseTopic {
	if m.req.Topics == nil || m.r.Version == 0 && len(m.req.Topics) == 0 {
		// What the client may not see is left out of a list of everything, without a word.
		all := make([]kmsg.MetadataResponseTopic, 0, m.img.TopicCount())
		for t := range m.img.Topics("") {
			if m.node.Authorizer.Allowed(m.r.Client, Describe, OnTopic, t.Name) {
				all = append(all, m.topic(t))
			}
		}
		return all
	}
	out := make([]kmsg.MetadataResponseTopic, 0, len(m.req.Topics))
	told := make(map[metadataName]bool, len(m.req.Topics))
	for i := range m.req.Topics {
		t := &m.req.Topics[i]
		name := metadataName{id: t.TopicID}
		if t.Topic != nil {
			name.name = *t.Topic
		}
		if !told[name] {
			told[name] = true
			out = append(out, m.asked(t))
		}
	}
	return out
}

// metadataName is a topic as a request names it; a client that names one both ways gets both answers.
type metadataName struct {
	name string
	id   model.TopicID
}

// asked answers for one topic. What the client may not see is refused before it is looked for, so that nobody learns
// which topics there are by trying names.
func (m *metadataView) asked(t *kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	switch {
	case namedByID(*t):
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

// failure fills in what Kafka 4.3.1 tells beside an error: the name as asked for (the field is not nullable before
// version 12; of an unknown id there is none), whether it would be internal, and what the client may do with it.
func (m *metadataView) failure(asked *kmsg.MetadataRequestTopic, code kerr.Code) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.ErrorCode, t.Topic, t.TopicID = int16(code), asked.Topic, asked.TopicID
	if t.Topic == nil && m.r.Version < 12 {
		t.Topic = kmsg.StringPtr("")
	}
	if code == kerr.UnknownTopicID {
		t.Topic = nil
	}
	t.IsInternal = t.Topic != nil && internalTopic(*t.Topic)
	if m.req.IncludeTopicAuthorizedOperations && t.Topic != nil {
		t.AuthorizedOperations = topicOperations
	}
	return t
}

// topic tells a topic with all its partitions: a client keeps what it is told as a whole.
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

// partition tells the leader as the client can use it; replicas and ISR are told as they are.
func (m *metadataView) partition(number int32, p *image.Partition) kmsg.MetadataResponseTopicPartition {
	out := kmsg.NewMetadataResponseTopicPartition()
	out.Partition, out.Leader, out.LeaderEpoch = number, int32(p.Leader), int32(p.LeaderEpoch)
	out.Replicas, out.ISR = ids(p.Replicas), ids(p.ISR)
	out.OfflineReplicas = m.node.offline(m.img, p)
	code := m.node.leaderCode(m.img, m.r.Client, p)
	// A leader that the client cannot reach is none to it; the epoch still says which leadership it missed.
	if code != kerr.None {
		out.Leader = -1
	}
	if code == kerr.ListenerNotFound && m.r.Version < 6 {
		code = kerr.LeaderNotAvailable
	}
	out.ErrorCode = int16(code)
	return out
}

// leaderCode tells why a client cannot reach a partition's leader: there is none, or it does not listen where the client
// came in.
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

// offline lists the replicas that cannot be served: their broker is not there, or the directory they lie in has failed.
func (n *Node) offline(img *image.Image, p *image.Partition) []int32 {
	var out []int32
	for _, id := range p.Replicas {
		if b, ok := img.Broker(id); !ok || b.Fenced || !b.HasOnline(p) {
			out = append(out, int32(id))
		}
	}
	return out
}

// ids is never null: clients take null for a field that the version lacks.
func ids(list []model.BrokerID) []int32 {
	out := make([]int32, len(list))
	for i, id := range list {
		out[i] = int32(id)
	}
	return out
}
