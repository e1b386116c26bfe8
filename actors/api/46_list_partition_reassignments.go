package api

// ListPartitionReassignments (key 46), versions 0-0. The controller answers; a barrier on its connection.
//
// Partitions that are not being moved are left out.
var listPartitionReassignments = adminHandler(46, "ListPartitionReassignments", 0, 0, OnBroker|OnController, Access{Describe, OnCluster})
