package api

// DeleteTopics (key 20), versions 1-6. The controller answers; a barrier on its connection.
//
// Errors a topic: 3 UNKNOWN_TOPIC_OR_PARTITION, 42 INVALID_REQUEST, 73 TOPIC_DELETION_DISABLED, 100 UNKNOWN_TOPIC_ID.
var deleteTopics = &Handler{
	Key: 20, Name: "DeleteTopics", Min: 1, Max: 6, On: OnBroker | OnController, Waits: true,
	Access: Access{DeleteOp, OnTopic},
	Handle: forward,
}
