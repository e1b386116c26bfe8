package api

// AllocateProducerIds (key 67), version 0 (KIP-730). The controller answers; no barrier, since only other nodes ask.
//
// Errors: 41 NOT_CONTROLLER, 77 STALE_BROKER_EPOCH, 102 BROKER_ID_NOT_REGISTERED; -1 when all ids are given out.
var allocateProducerIDs = &Handler{
	Key: 67, Name: "AllocateProducerIds", Min: 0, Max: 0, Peers: true, Waits: true,
	Access: Access{ClusterAction, OnCluster},
	Handle: forward,
}
