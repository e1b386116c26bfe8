package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// DescribeQuorum (key 55), versions 0-2 (KIP-595, KIP-836, KIP-853). A barrier on its connection.
//
// Errors: 31 CLUSTER_AUTHORIZATION_FAILED; a partition: 3 UNKNOWN_TOPIC_OR_PARTITION for all but partition 0 of
// __cluster_metadata, 6 NOT_LEADER_OR_FOLLOWER while there is no leader.
var describeQuorum = &Handler{
	Key: 55, Name: "DescribeQuorum", Min: 0, Max: 2, On: OnBroker | OnController,
	Access: Access{Describe, OnCluster},
	Handle: handleDescribeQuorum,
}

// metadataTopic is the metadata log as DescribeQuorum names it.
const metadataTopic = "__cluster_metadata"

// QuorumStatus is the metadata quorum as one node sees it.
type QuorumStatus struct {
	Leader        model.BrokerID // NoBroker while nobody leads
	LeaderEpoch   model.LeaderEpoch
	HighWatermark model.Offset
	Voters        []QuorumReplica
	Observers     []QuorumReplica
}

// QuorumReplica is a node with a copy of the metadata log. Times are in milliseconds, -1 when they are not known.
type QuorumReplica struct {
	ID             model.BrokerID
	Directory      model.DirectoryID
	LogEnd         model.Offset
	LastFetchMs    int64
	LastCaughtUpMs int64
}

// SoleVoter is the quorum of a node that votes alone: everything that it has applied is committed.
func SoleVoter(id model.BrokerID, directory model.DirectoryID, images ImageSource) func() QuorumStatus {
	return func() QuorumStatus {
		img := images.Image()
		end := img.Offset + 1
		return QuorumStatus{
			Leader: id, LeaderEpoch: img.Epoch, HighWatermark: end,
			Voters: []QuorumReplica{{ID: id, Directory: directory, LogEnd: end, LastFetchMs: -1, LastCaughtUpMs: -1}},
		}
	}
}

// handleDescribeQuorum tells nodes only beside a partition that it knows, and an empty message where Kafka's codes have
// none (measured on Kafka 4.3.1).
func handleDescribeQuorum(n *Node, r *Request) {
	req := r.Body.(*kmsg.DescribeQuorumRequest)
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.ErrorMessage = kmsg.StringPtr("")
	status := n.Quorum()
	told := false
	for _, asked := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = asked.Topic
		for _, p := range asked.Partitions {
			known := asked.Topic == metadataTopic && p.Partition == 0
			t.Partitions = append(t.Partitions, n.quorumPartition(p.Partition, known, &status))
			told = told || known
		}
		resp.Topics = append(resp.Topics, t)
	}
	if told {
		resp.Nodes = n.quorumNodes(&status)
	}
	r.Reply(resp)
}

// quorumPartition leaves all else at zero beside an error, also the leader's id: the field's default is 0.
func (n *Node) quorumPartition(number int32, known bool, q *QuorumStatus) kmsg.DescribeQuorumResponseTopicPartition {
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.Partition, p.ErrorMessage = number, kmsg.StringPtr("")
	code := kerr.None
	switch {
	case !known:
		code = kerr.UnknownTopicOrPartition
	case q.Leader == model.NoBroker:
		code = kerr.NotLeaderOrFollower
	}
	if code != kerr.None {
		p.ErrorCode, p.ErrorMessage = int16(code), errorMessage(code)
		return p
	}
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(q.Leader), int32(q.LeaderEpoch), int64(q.HighWatermark)
	p.CurrentVoters, p.Observers = n.quorumReplicas(q, q.Voters), n.quorumReplicas(q, q.Observers)
	return p
}

// quorumReplicas lists copies of the log. The leader has always just fetched from itself (measured on Kafka 4.3.1).
func (n *Node) quorumReplicas(q *QuorumStatus, list []QuorumReplica) []kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	out := make([]kmsg.DescribeQuorumResponseTopicPartitionReplicaState, len(list))
	for i, v := range list {
		if v.ID == q.Leader {
			v.LastFetchMs = n.Clock.Now().UnixMilli()
			v.LastCaughtUpMs = v.LastFetchMs
		}
		out[i] = kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		out[i].ReplicaID, out[i].ReplicaDirectoryID, out[i].LogEndOffset = int32(v.ID), v.Directory, int64(v.LogEnd)
		out[i].LastFetchTimestamp, out[i].LastCaughtUpTimestamp = v.LastFetchMs, v.LastCaughtUpMs
	}
	return out
}

// quorumNodes tells where the voters are reached, as far as they have registered as controllers (KIP-919).
func (n *Node) quorumNodes(q *QuorumStatus) []kmsg.DescribeQuorumResponseNode {
	var nodes []kmsg.DescribeQuorumResponseNode
	for _, v := range q.Voters {
		out := kmsg.NewDescribeQuorumResponseNode()
		out.NodeID = int32(v.ID)
		for reg := range n.Image().Controllers() {
			if reg.ControllerID != v.ID {
				continue
			}
			for _, e := range reg.Endpoints {
				l := kmsg.NewDescribeQuorumResponseNodeListener()
				l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
				out.Listeners = append(out.Listeners, l)
			}
		}
		nodes = append(nodes, out)
	}
	return nodes
}
