package api

// UpdateFeatures (key 57), versions 0-2. The controller answers; a barrier on its connection.
//
// Errors: 42 INVALID_REQUEST, 96 FEATURE_UPDATE_FAILED.
var updateFeatures = adminHandler(57, "UpdateFeatures", 0, 2, OnBroker|OnController, Access{Alter, OnCluster})
