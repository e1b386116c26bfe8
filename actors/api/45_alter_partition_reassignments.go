package api

// AlterPartitionReassignments (key 45), versions 0-1. The controller answers; a barrier on its connection.
//
// Errors a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 38 INVALID_REPLICATION_FACTOR, 39 INVALID_REPLICA_ASSIGNMENT, 85
// NO_REASSIGNMENT_IN_PROGRESS.
var alterPartitionReassignments = &Handler{
	Key: 45, Name: "AlterPartitionReassignments", Min: 0, Max: 1, On: OnBroker | OnController, Waits: true,
	Access: Access{Alter, OnCluster},
	Handle: forward,
}
