package api

// CreateTopics (key 19), versions 2-7. The controller answers; a barrier on its connection.
//
// Errors a topic: 17 INVALID_TOPIC_EXCEPTION, 36 TOPIC_ALREADY_EXISTS, 37 INVALID_PARTITIONS, 38
// INVALID_REPLICATION_FACTOR, 39 INVALID_REPLICA_ASSIGNMENT, 40 INVALID_CONFIG, 42 INVALID_REQUEST, 44 POLICY_VIOLATION.
var createTopics = &Handler{
	Key: 19, Name: "CreateTopics", Min: 2, Max: 7, On: OnBroker | OnController, Waits: true,
	Access: Access{Create, OnCluster},
	Handle: forward,
}
