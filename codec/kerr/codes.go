// Package kerr holds the error codes of Kafka's protocol: numbers, names, texts and whether a client may retry.
// The set is that of Kafka 4.4 (facts/errors.csv).
package kerr

// Code is the int16 that a reply carries. It is an error, so that a decision may return it as one.
type Code int16

// The codes. None is success; UnknownServerError is the answer to a fault that has no code of its own.
const (
	// A fault without a code of its own. Kafka gives it to some malformed batches too (codec/batch).
	UnknownServerError Code = -1
	None               Code = 0
	OffsetOutOfRange   Code = 1
	// Clients send the batch again: the damage may have happened on the way.
	CorruptMessage          Code = 2
	UnknownTopicOrPartition Code = 3
	// No broker of today sends it.
	InvalidFetchSize   Code = 4
	LeaderNotAvailable Code = 5
	// Makes clients fetch metadata again, as do the other retriable codes about leaders.
	NotLeaderOrFollower Code = 6
	RequestTimedOut     Code = 7
	BrokerNotAvailable  Code = 8
	// For log directories only; produce and fetch never carry it.
	ReplicaNotAvailable    Code = 9
	MessageTooLarge        Code = 10
	StaleControllerEpoch   Code = 11
	OffsetMetadataTooLarge Code = 12
	// Made by clients themselves, never sent.
	NetworkException             Code = 13
	CoordinatorLoadInProgress    Code = 14
	CoordinatorNotAvailable      Code = 15
	NotCoordinator               Code = 16
	InvalidTopicException        Code = 17
	RecordListTooLarge           Code = 18
	NotEnoughReplicas            Code = 19
	NotEnoughReplicasAfterAppend Code = 20
	// acks other than -1, 0 and 1.
	InvalidRequiredAcks        Code = 21
	IllegalGeneration          Code = 22
	InconsistentGroupProtocol  Code = 23
	InvalidGroupID             Code = 24
	UnknownMemberID            Code = 25
	InvalidSessionTimeout      Code = 26
	RebalanceInProgress        Code = 27
	InvalidCommitOffsetSize    Code = 28
	TopicAuthorizationFailed   Code = 29
	GroupAuthorizationFailed   Code = 30
	ClusterAuthorizationFailed Code = 31
	InvalidTimestamp           Code = 32
	UnsupportedSASLMechanism   Code = 33
	IllegalSASLState           Code = 34
	// Only ApiVersions is answered with it; another version that is not supported closes the connection.
	UnsupportedVersion       Code = 35
	TopicAlreadyExists       Code = 36
	InvalidPartitions        Code = 37
	InvalidReplicationFactor Code = 38
	InvalidReplicaAssignment Code = 39
	InvalidConfig            Code = 40
	// A broker that forwards to the controller retries by itself, so clients see it rarely.
	NotController               Code = 41
	InvalidRequest              Code = 42
	UnsupportedForMessageFormat Code = 43
	PolicyViolation             Code = 44
	OutOfOrderSequenceNumber    Code = 45
	// Kafka 4 answers a repeat among the last five batches with success, and an older one with 45.
	DuplicateSequenceNumber Code = 46
	// What Produce says to a fenced producer; requests about transactions say ProducerFenced (KIP-588).
	InvalidProducerEpoch      Code = 47
	InvalidTxnState           Code = 48
	InvalidProducerIDMapping  Code = 49
	InvalidTransactionTimeout Code = 50
	// Clients come again after a short while: the last transaction is still being completed.
	ConcurrentTransactions             Code = 51
	TransactionCoordinatorFenced       Code = 52
	TransactionalIDAuthorizationFailed Code = 53
	SecurityDisabled                   Code = 54
	OperationNotAttempted              Code = 55
	KafkaStorageError                  Code = 56
	LogDirNotFound                     Code = 57
	SASLAuthenticationFailed           Code = 58
	// Kafka 4 does not send it: an unknown producer may begin at any sequence.
	UnknownProducerID                  Code = 59
	ReassignmentInProgress             Code = 60
	DelegationTokenAuthDisabled        Code = 61
	DelegationTokenNotFound            Code = 62
	DelegationTokenOwnerMismatch       Code = 63
	DelegationTokenRequestNotAllowed   Code = 64
	DelegationTokenAuthorizationFailed Code = 65
	DelegationTokenExpired             Code = 66
	InvalidPrincipalType               Code = 67
	NonEmptyGroup                      Code = 68
	GroupIDNotFound                    Code = 69
	FetchSessionIDNotFound             Code = 70
	InvalidFetchSessionEpoch           Code = 71
	ListenerNotFound                   Code = 72
	TopicDeletionDisabled              Code = 73
	// The client is behind (KIP-320).
	FencedLeaderEpoch Code = 74
	// The client is ahead, and the broker has yet to hear of it (KIP-320).
	UnknownLeaderEpoch         Code = 75
	UnsupportedCompressionType Code = 76
	StaleBrokerEpoch           Code = 77
	// ListOffsets of the newest offset right after an election (KIP-207).
	OffsetNotAvailable Code = 78
	// The answer that carries it has the member id (KIP-394).
	MemberIDRequired            Code = 79
	PreferredLeaderNotAvailable Code = 80
	GroupMaxSizeReached         Code = 81
	FencedInstanceID            Code = 82
	EligibleLeadersNotAvailable Code = 83
	ElectionNotNeeded           Code = 84
	NoReassignmentInProgress    Code = 85
	GroupSubscribedToTopic      Code = 86
	// For records that break a rule, and for what is no single batch of format v2.
	InvalidRecord                   Code = 87
	UnstableOffsetCommit            Code = 88
	ThrottlingQuotaExceeded         Code = 89
	ProducerFenced                  Code = 90
	ResourceNotFound                Code = 91
	DuplicateResource               Code = 92
	UnacceptableCredential          Code = 93
	InconsistentVoterSet            Code = 94
	InvalidUpdateVersion            Code = 95
	FeatureUpdateFailed             Code = 96
	PrincipalDeserializationFailure Code = 97
	SnapshotNotFound                Code = 98
	PositionOutOfRange              Code = 99
	// The counterpart of UnknownTopicOrPartition where topics are named by id (KIP-516).
	UnknownTopicID              Code = 100
	DuplicateBrokerRegistration Code = 101
	BrokerIDNotRegistered       Code = 102
	InconsistentTopicID         Code = 103
	InconsistentClusterID       Code = 104
	TransactionalIDNotFound     Code = 105
	// A session may not go from names to ids.
	FetchSessionTopicIDError Code = 106
	IneligibleReplica        Code = 107
	// The change was made all the same.
	NewLeaderElected           Code = 108
	OffsetMovedToTieredStorage Code = 109
	// The member gives up its partitions and joins again (KIP-848).
	FencedMemberEpoch    Code = 110
	UnreleasedInstanceID Code = 111
	UnsupportedAssignor  Code = 112
	// The member fetches its epoch and commits again (KIP-848).
	StaleMemberEpoch        Code = 113
	MismatchedEndpointType  Code = 114
	UnsupportedEndpointType Code = 115
	UnknownControllerID     Code = 116
	UnknownSubscriptionID   Code = 117
	TelemetryTooLarge       Code = 118
	InvalidRegistration     Code = 119
	// The producer stays usable, unlike after ProducerFenced (KIP-890).
	TransactionAbortable     Code = 120
	InvalidRecordState       Code = 121
	ShareSessionNotFound     Code = 122
	InvalidShareSessionEpoch Code = 123
	FencedStateEpoch         Code = 124
	InvalidVoterKey          Code = 125
	DuplicateVoter           Code = 126
	VoterNotFound            Code = 127
	InvalidRegularExpression Code = 128
	// KIP-1102.
	RebootstrapRequired                    Code = 129
	StreamsInvalidTopology                 Code = 130
	StreamsInvalidTopologyEpoch            Code = 131
	StreamsTopologyFenced                  Code = 132
	ShareSessionLimitReached               Code = 133
	GroupDeletionFailed                    Code = 134
	StreamsTopologyDescriptionUpdateFailed Code = 135
	ControllerIDNotRegistered              Code = 136
)
