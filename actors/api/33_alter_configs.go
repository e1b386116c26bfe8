package api

// AlterConfigs (key 33), versions 0-2. The controller answers; a barrier on its connection.
//
// Errors a resource: 3 UNKNOWN_TOPIC_OR_PARTITION, 40 INVALID_CONFIG, 42 INVALID_REQUEST, 44 POLICY_VIOLATION.
var alterConfigs = adminHandler(33, "AlterConfigs", 0, 2, OnBroker|OnController, Access{AlterConfigsOp, OnCluster})
