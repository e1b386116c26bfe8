package api

// BrokerHeartbeat (key 63), versions 0-2 (KIP-631, KIP-858, KIP-1066). The controller answers; no barrier, since only other nodes ask.
//
// Errors: 41 NOT_CONTROLLER, 77 STALE_BROKER_EPOCH, 102 BROKER_ID_NOT_REGISTERED.
var brokerHeartbeat = &Handler{
	Key: 63, Name: "BrokerHeartbeat", Min: 0, Max: 2, Peers: true, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: forward,
}
