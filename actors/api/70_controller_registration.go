package api

// ControllerRegistration (key 70), version 0 (KIP-919). The controller answers; no barrier, since only other nodes ask.
//
// Errors: 35 UNSUPPORTED_VERSION below the metadata.version for it, 41 NOT_CONTROLLER.
var controllerRegistration = &Handler{
	Key: 70, Name: "ControllerRegistration", Min: 0, Max: 0, Peers: true, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: forward,
}
