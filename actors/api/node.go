package api

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
)

// Node is what handlers see of the broker. Its fields are set before the first connection and safe for concurrent use.
type Node struct {
	ID         model.BrokerID
	Self       func() private.Identity // what this node says of itself to others
	Peers      *peer.Directory
	Config     *configs.Broker
	Layers     func() configs.Layers // static configuration with the dynamic broker configs of the image over it
	Images     ImageSource
	Replicas   *replica.Directory
	Dirs       []*disk.Dir
	Controller kit.Ref                  // takes the controller's requests
	Quorum     func() controller.Status // how the metadata quorum stands; safe for concurrent use
	Sessions   *Sessions
	// LeaderQuota bounds what followers are given of throttled partitions.
	LeaderQuota *throttle.Quota
	Moves       kit.Ref // moves replicas between log directories
	Producers   ProducerIDs
	Groups      Groups
	Authorizer  Authorizer
	APIs        []*Handler // what ApiVersions shows: Table()
	Clock       clock.Clock
	Log         *slog.Logger
	Stats       *Stats

	groupless atomic.Int32 // the code of why the topic of offsets cannot be created, as last told
}

// ImageSource gives the metadata that this broker has applied.
type ImageSource interface {
	Image() *image.Image
}

// ProducerIDs hands out producer ids that no broker ever hands out again. done is called once, from any goroutine.
type ProducerIDs interface {
	Next(done func(model.ProducerID, kerr.Code))
}

// Image is the metadata that this broker has applied.
func (n *Node) Image() *image.Image { return n.Images.Image() }

// absentPartition tells why this broker has no replica of a partition that a client named.
func (n *Node) absentPartition(topic string, partition int32) kerr.Code {
	if _, ok := n.Image().Partition(model.TopicPartition{Topic: topic, Partition: partition}); ok {
		return kerr.NotLeaderOrFollower
	}
	return kerr.UnknownTopicOrPartition
}

// absentFetch is absentPartition for a fetch, which may name the topic by id.
func (n *Node) absentFetch(p *fetchPart) kerr.Code {
	asked := p.topic.Value()
	if !asked.byID {
		return n.absentPartition(asked.name, p.partition)
	}
	t, ok := n.Image().TopicByID(asked.id)
	if !ok {
		return kerr.UnknownTopicID
	}
	return n.absentPartition(t.Name, p.partition)
}

// leaderHint tells who leads a partition; nil when nobody is known to.
func (n *Node) leaderHint(topic string, partition int32) *currentLeader {
	p, ok := n.Image().Partition(model.TopicPartition{Topic: topic, Partition: partition})
	if !ok {
		return nil
	}
	return &currentLeader{id: p.Leader, epoch: p.LeaderEpoch}
}

// endpoint is a broker as the clients of one listener reach it.
type endpoint struct {
	ID   model.BrokerID
	Host string
	Port int32
	Rack *string
}

// endpoints lists the brokers that are not fenced and have the client's listener.
func (n *Node) endpoints(c *Client) []endpoint {
	var all []endpoint
	for b := range n.Image().Brokers() {
		if b.Fenced {
			continue
		}
		if e, ok := b.Endpoint(c.Listener); ok {
			all = append(all, endpoint{b.ID, e.Host, int32(e.Port), b.Rack})
		}
	}
	return all
}

// leaderEndpoints completes a NOT_LEADER_OR_FOLLOWER answer of Produce with where the leader is (KIP-951); brokers holds
// each leader once.
func (n *Node) leaderEndpoints(c *Client, brokers []kmsg.ProduceResponseBroker, p *kmsg.ProduceResponseTopicPartition, topic string) []kmsg.ProduceResponseBroker {
	hint := n.leaderHint(topic, p.Partition)
	if hint == nil {
		return brokers
	}
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(hint.id), int32(hint.epoch)
	for _, e := range n.endpoints(c) {
		known := slices.ContainsFunc(brokers, func(b kmsg.ProduceResponseBroker) bool { return b.NodeID == int32(e.ID) })
		if e.ID != hint.id || known {
			continue
		}
		b := kmsg.NewProduceResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = int32(e.ID), e.Host, e.Port, e.Rack
		return append(brokers, b)
	}
	return brokers
}

// Handle asks the authorizer and runs the request's handler.
func (n *Node) Handle(r *Request) {
	h := r.Handler
	if h.Access.Operation != Anything && !n.Authorizer.Allowed(r.Client, h.Access.Operation, h.Access.Resource, "") {
		r.Hangup("not authorized for " + h.Name)
		return
	}
	h.Handle(n, r)
}
