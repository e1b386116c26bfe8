package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/kerr"
)

// DescribeTopicPartitions (key 75), version 0 (KIP-966): topics in order of name, a page at a time. A barrier on its
// connection.
//
// Errors a topic: 3 UNKNOWN_TOPIC_OR_PARTITION, 17 INVALID_TOPIC_EXCEPTION, 29 TOPIC_AUTHORIZATION_FAILED; 42
// INVALID_REQUEST for every topic when the cursor is on none of those asked for or below partition 0. A partition: 5
// LEADER_NOT_AVAILABLE, 72 LISTENER_NOT_FOUND.
var describeTopicPartitions = &Handler{
	Key: 75, Name: "DescribeTopicPartitions", Min: 0, Max: 0, On: OnBroker,
	Access: Access{Describe, OnTopic},
	Handle: handleDescribeTopicPartitions,
}

// topicPage fills one page: at most left partitions, from the cursor on.
type topicPage struct {
	node *Node
	img  *image.Image
	r    *Request
	from *kmsg.DescribeTopicPartitionsRequestCursor // nil for the beginning
	left int
	resp *kmsg.DescribeTopicPartitionsResponse
}

// handleDescribeTopicPartitions makes each page from the image of its moment: a topic that goes between two pages is
// left out, as its cursor only says where to go on in the order of names.
func handleDescribeTopicPartitions(n *Node, r *Request) {
	req := r.Body.(*kmsg.DescribeTopicPartitionsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	names := make([]string, len(req.Topics))
	for i := range req.Topics {
		names[i] = req.Topics[i].Topic
	}
	if c := req.Cursor; c != nil && (c.Partition < 0 || len(names) > 0 && !slices.Contains(names, c.Topic)) {
		for i := range names {
			resp.Topics = append(resp.Topics, describedTopic(names[i], kerr.InvalidRequest))
		}
		r.Reply(resp)
		return
	}
	// A limit below 1 acts as 1 (measured on Kafka 4.3.1).
	limit := max(1, min(req.ResponsePartitionLimit, n.Config.Topics.DescribeMax))
	p := topicPage{node: n, img: n.Image(), r: r, from: req.Cursor, left: int(limit), resp: resp}
	if len(names) == 0 {
		p.all()
	} else {
		p.named(names)
	}
	r.Reply(resp)
}

// all pages through the topics that the client may see.
func (p *topicPage) all() {
	first := ""
	if p.from != nil {
		first = p.from.Topic
	}
	for t := range p.img.Topics(first) {
		if !p.node.Authorizer.Allowed(p.r.Client, Describe, OnTopic, t.Name) {
			continue
		}
		if !p.topic(t) {
			return
		}
	}
}

// named pages through the topics asked for. Those that the client may not see come last, whether they exist or not.
func (p *topicPage) named(names []string) {
	slices.Sort(names)
	var hidden []string
	for _, name := range slices.Compact(names) {
		if p.from != nil && name < p.from.Topic {
			continue
		}
		if !p.node.Authorizer.Allowed(p.r.Client, Describe, OnTopic, name) {
			hidden = append(hidden, name)
			continue
		}
		if !p.name(name) {
			break
		}
	}
	for _, name := range hidden {
		p.resp.Topics = append(p.resp.Topics, describedTopic(name, kerr.TopicAuthorizationFailed))
	}
}

// name takes no place of the page for a topic that is not there, but none is told after the page is full.
func (p *topicPage) name(name string) bool {
	if t, ok := p.img.Topic(name); ok {
		return p.topic(t)
	}
	if p.left == 0 {
		p.stop(name, 0)
		return false
	}
	code := kerr.UnknownTopicOrPartition
	if checkTopicName(name) != nil {
		code = kerr.InvalidTopicException
	}
	t := describedTopic(name, code)
	t.AuthorizedOperations = topicOperations
	p.resp.Topics = append(p.resp.Topics, t)
	return true
}

// topic adds a topic's partitions; false when the page is full.
func (p *topicPage) topic(t *image.Topic) bool {
	if p.left == 0 {
		p.stop(t.Name, 0)
		return false
	}
	first := 0
	if p.from != nil && p.from.Topic == t.Name {
		first = min(int(p.from.Partition), len(t.Partitions))
	}
	end := min(first+p.left, len(t.Partitions))
	out := describedTopic(t.Name, kerr.None)
	out.TopicID, out.AuthorizedOperations = t.ID, topicOperations
	for i := first; i < end; i++ {
		out.Partitions = append(out.Partitions, p.partition(int32(i), t.Partitions[i]))
	}
	p.resp.Topics = append(p.resp.Topics, out)
	p.left -= end - first
	if end < len(t.Partitions) {
		p.stop(t.Name, int32(end))
		return false
	}
	return true
}

// stop tells where the next page begins.
func (p *topicPage) stop(topic string, partition int32) {
	next := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	next.Topic, next.Partition = topic, partition
	p.resp.NextCursor = &next
}

// partition is Metadata's, with the replicas that may be elected though they are not in sync (KIP-966).
func (p *topicPage) partition(number int32, of *image.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	out := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	out.Partition, out.LeaderID, out.LeaderEpoch = number, int32(of.Leader), int32(of.LeaderEpoch)
	out.Replicas, out.ISR = ids(of.Replicas), ids(of.ISR)
	// Not null: this broker knows that there are none.
	out.EligibleLeaderReplicas, out.LastKnownELR = ids(of.ELR), ids(of.LastKnownELR)
	out.OfflineReplicas = p.node.offline(p.img, of)
	if code := p.node.leaderCode(p.img, p.r.Client, of); code != kerr.None {
		out.ErrorCode, out.LeaderID = int16(code), -1
	}
	return out
}

// describedTopic has the operations at "not told", which the answers of Kafka keep beside a refused cursor.
func describedTopic(name string, code kerr.Code) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.IsInternal = &name, int16(code), internalTopic(name)
	return t
}
