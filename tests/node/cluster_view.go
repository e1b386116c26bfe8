package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// answerWithin bounds one question to a node, so that a hung one does not stop a test that asks until something holds.
const answerWithin = 2 * time.Second

// Metadata asks one node what it knows of the cluster and of the topics named.
func (n *Node) Metadata(topics ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; null would be all
	for _, name := range topics {
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = &name
		req.Topics = append(req.Topics, one)
	}
	return wire.Try[*kmsg.MetadataResponse](n.Bootstrap, wire.Versioned(req, 12), answerWithin)
}

// AwaitServing waits until every node that runs lists all that run as brokers, and no other.
func (c *Cluster) AwaitServing() {
	c.t.Helper()
	nodes := c.running()
	for _, n := range nodes {
		Eventually(c.t, fmt.Sprintf("node %d serves and knows the %d nodes that run", n.ID, len(nodes)), func() bool {
			resp, err := n.Metadata()
			return err == nil && len(resp.Brokers) == len(nodes) && !slices.ContainsFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool {
				return !slices.ContainsFunc(nodes, func(n *Node) bool { return n.ID == b.NodeID })
			})
		})
	}
}

// Controller gives the node that leads the quorum, once one of those that run can tell.
func (c *Cluster) Controller() *Node {
	c.t.Helper()
	var leader int32
	Eventually(c.t, "somebody leads the quorum", func() bool {
		for _, n := range c.running() {
			if q, err := n.Quorum(); err == nil && q.ErrorCode == 0 && q.LeaderID > 0 && c.Node(q.LeaderID).Running() {
				leader = q.LeaderID
				return true
			}
		}
		return false
	})
	return c.Node(leader)
}

// Quorum asks one node how the metadata quorum stands (DescribeQuorum).
func (n *Node) Quorum() (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	one := kmsg.NewDescribeQuorumRequestTopic()
	one.Topic = "__cluster_metadata"
	one.Partitions = append(one.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, one)
	resp, err := wire.Try[*kmsg.DescribeQuorumResponse](n.Bootstrap, wire.Versioned(req, 1), answerWithin)
	if err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("error %d and %d topics", resp.ErrorCode, len(resp.Topics))
	}
	return &resp.Topics[0].Partitions[0], nil
}

// Partition gives what the first node that answers knows of a partition: leader, replicas and in-sync replicas.
func (c *Cluster) Partition(topic string, partition int32) kmsg.MetadataResponseTopicPartition {
	c.t.Helper()
	var found kmsg.MetadataResponseTopicPartition
	Eventually(c.t, fmt.Sprintf("somebody knows %s-%d", topic, partition), func() bool {
		for _, n := range c.running() {
			resp, err := n.Metadata(topic)
			if err != nil || len(resp.Topics) != 1 {
				continue
			}
			for _, p := range resp.Topics[0].Partitions {
				if p.Partition == partition {
					found = p
					return true
				}
			}
		}
		return false
	})
	return found
}

// Leader gives the node that leads a partition, once there is one that runs.
func (c *Cluster) Leader(topic string, partition int32) *Node {
	c.t.Helper()
	var leader int32
	Eventually(c.t, fmt.Sprintf("a node that runs leads %s-%d", topic, partition), func() bool {
		leader = c.Partition(topic, partition).Leader
		return leader > 0 && c.Node(leader).Running()
	})
	return c.Node(leader)
}

// AwaitInSync waits until so many replicas of a partition are in sync.
func (c *Cluster) AwaitInSync(topic string, partition int32, replicas int) {
	c.t.Helper()
	Eventually(c.t, fmt.Sprintf("%d replicas of %s-%d are in sync", replicas, topic, partition), func() bool {
		return len(c.Partition(topic, partition).ISR) == replicas
	})
}

// AwaitWhole waits until every replica of every partition of a topic is in sync, as each node that runs tells.
func (c *Cluster) AwaitWhole(topic string) {
	c.t.Helper()
	for _, n := range c.running() {
		Eventually(c.t, fmt.Sprintf("all replicas of %s are in sync, says node %d", topic, n.ID), func() bool {
			resp, err := n.Metadata(topic)
			return err == nil && len(resp.Topics) == 1 && len(resp.Topics[0].Partitions) > 0 &&
				!slices.ContainsFunc(resp.Topics[0].Partitions, func(p kmsg.MetadataResponseTopicPartition) bool {
					return p.ErrorCode != 0 || p.Leader < 0 || len(p.ISR) != len(p.Replicas)
				})
		})
	}
}
