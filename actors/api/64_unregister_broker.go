package api

// UnregisterBroker (key 64), versions 0-0. The controller answers; a barrier on its connection.
//
// Errors: 102 BROKER_ID_NOT_REGISTERED.
var unregisterBroker = adminHandler(64, "UnregisterBroker", 0, 0, OnBroker|OnController, Access{Alter, OnCluster})
