package api

// UnregisterBroker (key 64), versions 0-0. The controller answers; a barrier on its connection.
//
// Errors: 102 BROKER_ID_NOT_REGISTERED.
var unregisterBroker = &Handler{
	Key: 64, Name: "UnregisterBroker", Min: 0, Max: 0, On: OnBroker | OnController, Waits: true,
	Access: Access{Alter, OnCluster},
	Handle: forward,
}
