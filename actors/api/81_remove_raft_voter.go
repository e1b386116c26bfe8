package api

// RemoveRaftVoter (key 81), versions 0-0 (KIP-853). The quorum's leader answers when the change is committed; a barrier on its
// connection.
//
// Errors: 7 REQUEST_TIMED_OUT while another change is under way, 31 CLUSTER_AUTHORIZATION_FAILED, 35 UNSUPPORTED_VERSION
// under kraft.version 0, 41 NOT_CONTROLLER, 104 INCONSISTENT_CLUSTER_ID, 127 VOTER_NOT_FOUND.
var removeRaftVoter = &Handler{
	Key: 81, Name: "RemoveRaftVoter", Min: 0, Max: 0, On: OnBroker | OnController, Waits: true,
	Access: Access{Alter, OnCluster},
	Handle: forward,
}
