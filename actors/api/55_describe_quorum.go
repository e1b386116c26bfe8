package api

// DescribeQuorum (key 55), versions 0-2 (KIP-595, KIP-836, KIP-853). The leader of the quorum answers; a barrier on its
// connection.
//
// Errors: 31 CLUSTER_AUTHORIZATION_FAILED; a partition: 3 UNKNOWN_TOPIC_OR_PARTITION for all but partition 0 of
// __cluster_metadata, 6 NOT_LEADER_OR_FOLLOWER when no leader is found.
var describeQuorum = &Handler{
	Key: 55, Name: "DescribeQuorum", Min: 0, Max: 2, On: OnBroker | OnController, Waits: true,
	Access: Access{Describe, OnCluster},
	Handle: forward,
}
