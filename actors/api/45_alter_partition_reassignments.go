package api

// AlterPartitionReassignments (key 45), versions 0-1. The controller answers; a barrier on its connection.
//
// Errors a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 38 INVALID_REPLICATION_FACTOR, 39 INVALID_REPLICA_ASSIGNMENT, 85
// NO_REASSIGNMENT_IN_PROGRESS.
var alterPartitionReassignments = adminHandler(45, "AlterPartitionReassignments", 0, 1, OnBroker|OnController, Access{Alter, OnCluster})
