package api

// AssignReplicasToDirs (key 73), version 0 (KIP-858). The controller answers; no barrier, since only other nodes ask.
//
// Errors: 41 NOT_CONTROLLER, 77 STALE_BROKER_EPOCH, 102 BROKER_ID_NOT_REGISTERED; a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 6
// NOT_LEADER_OR_FOLLOWER, 100 UNKNOWN_TOPIC_ID.
var assignReplicasToDirs = &Handler{
	Key: 73, Name: "AssignReplicasToDirs", Min: 0, Max: 0, Peers: true, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: forward,
}
