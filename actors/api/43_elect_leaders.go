package api

// ElectLeaders (key 43), versions 0-2. The controller answers; a barrier on its connection.
//
// Errors a partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 80 PREFERRED_LEADER_NOT_AVAILABLE, 83 ELIGIBLE_LEADERS_NOT_AVAILABLE,
// 84 ELECTION_NOT_NEEDED.
var electLeaders = &Handler{
	Key: 43, Name: "ElectLeaders", Min: 0, Max: 2, On: OnBroker | OnController, Waits: true, Coded: Versions{1, 2},
	Access: Access{Alter, OnCluster},
	Handle: forward,
}
