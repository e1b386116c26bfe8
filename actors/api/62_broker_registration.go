package api

// BrokerRegistration (key 62), versions 0-4 (KIP-631, KIP-858, KIP-966). The controller answers; no barrier, since only other nodes ask.
//
// Errors: 35 UNSUPPORTED_VERSION, 41 NOT_CONTROLLER, 42 INVALID_REQUEST, 101
// DUPLICATE_BROKER_REGISTRATION, 104 INCONSISTENT_CLUSTER_ID, 119 INVALID_REGISTRATION while it migrates from ZooKeeper.
var brokerRegistration = &Handler{
	Key: 62, Name: "BrokerRegistration", Min: 0, Max: 4, Peers: true, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: forward,
}
