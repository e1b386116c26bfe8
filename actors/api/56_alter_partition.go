package api

// AlterPartition (key 56), versions 2-3 (KIP-497, KIP-841, KIP-903). The controller answers; no barrier, since only other nodes ask.
//
// Errors: 41 NOT_CONTROLLER, 77 STALE_BROKER_EPOCH, 102 BROKER_ID_NOT_REGISTERED; a partition: 3
// UNKNOWN_TOPIC_OR_PARTITION, 41 NOT_CONTROLLER, 42 INVALID_REQUEST, 74 FENCED_LEADER_EPOCH, 95 INVALID_UPDATE_VERSION, 100
// UNKNOWN_TOPIC_ID, 107 INELIGIBLE_REPLICA, 108 NEW_LEADER_ELECTED.
var alterPartition = &Handler{
	Key: 56, Name: "AlterPartition", Min: 2, Max: 3, Peers: true, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: forward,
}
