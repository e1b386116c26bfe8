package api

// CreatePartitions (key 37), versions 0-3. The controller answers; a barrier on its connection.
//
// Errors a topic: 3 UNKNOWN_TOPIC_OR_PARTITION, 37 INVALID_PARTITIONS, 38 INVALID_REPLICATION_FACTOR, 39
// INVALID_REPLICA_ASSIGNMENT, 42 INVALID_REQUEST, 44 POLICY_VIOLATION, 60 REASSIGNMENT_IN_PROGRESS.
var createPartitions = &Handler{
	Key: 37, Name: "CreatePartitions", Min: 0, Max: 3, On: OnBroker | OnController, Waits: true,
	Access: Access{Alter, OnTopic},
	Handle: forward,
}
