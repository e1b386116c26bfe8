package api

// ListPartitionReassignments (key 46), versions 0-0. The controller answers; a barrier on its connection.
//
// Errors: 31 CLUSTER_AUTHORIZATION_FAILED, 41 NOT_CONTROLLER. Partitions that are not being moved are left out.
var listPartitionReassignments = &Handler{
	Key: 46, Name: "ListPartitionReassignments", Min: 0, Max: 0, On: OnBroker | OnController, Waits: true,
	Access: Access{Describe, OnCluster},
	Handle: forward,
}
