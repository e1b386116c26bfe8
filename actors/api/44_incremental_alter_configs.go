package api

// IncrementalAlterConfigs (key 44), versions 0-1. The controller answers; a barrier on its connection.
//
// Errors a resource: 3 UNKNOWN_TOPIC_OR_PARTITION, 40 INVALID_CONFIG, 42 INVALID_REQUEST, 44 POLICY_VIOLATION.
var incrementalAlterConfigs = adminHandler(44, "IncrementalAlterConfigs", 0, 1, OnBroker|OnController, Access{AlterConfigsOp, OnCluster})
