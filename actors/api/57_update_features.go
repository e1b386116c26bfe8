package api

// UpdateFeatures (key 57), versions 0-2. The controller answers; a barrier on its connection.
//
// Errors: 42 INVALID_REQUEST, 96 FEATURE_UPDATE_FAILED.
var updateFeatures = &Handler{
	Key: 57, Name: "UpdateFeatures", Min: 0, Max: 2, On: OnBroker | OnController, Waits: true,
	Access: Access{Alter, OnCluster},
	Handle: forward,
}
