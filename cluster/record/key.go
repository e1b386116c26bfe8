package record

import "strconv"

// Key is the api key of a metadata record. Numbers 6, 13 and 16 were given up before Kafka 3.3.
type Key int16

// The kinds of facts/records.md.
const (
	// Brokers and controllers: who there is, and whether they serve (KIP-631, KIP-919). Fence and unfence are the older
	// form of a registration change.
	KeyRegisterBroker           Key = 0
	KeyUnregisterBroker         Key = 1
	KeyFenceBroker              Key = 7
	KeyUnfenceBroker            Key = 8
	KeyBrokerRegistrationChange Key = 17
	KeyRegisterController       Key = 27

	// Topics and partitions. A topic's configs go with it, without records of their own.
	KeyTopic           Key = 2
	KeyPartition       Key = 3
	KeyPartitionChange Key = 5
	KeyRemoveTopic     Key = 9
	KeyClearElr        Key = 28

	// The cluster: configs, features, quotas, producer ids, and what a migration from ZooKeeper left.
	KeyConfig           Key = 4
	KeyFeatureLevel     Key = 12
	KeyClientQuota      Key = 14
	KeyProducerIDs      Key = 15
	KeyNoOp             Key = 20
	KeyZkMigrationState Key = 21

	// Security. Secrets are in the log only as salted hashes.
	KeyDelegationToken           Key = 10
	KeyUserScramCredential       Key = 11
	KeyAccessControlEntry        Key = 18
	KeyRemoveAccessControlEntry  Key = 19
	KeyRemoveUserScramCredential Key = 22
	KeyRemoveDelegationToken     Key = 26

	// Marks round the records of one change (KIP-868).
	KeyBeginTransaction Key = 23
	KeyEndTransaction   Key = 24
	KeyAbortTransaction Key = 25

	// keyCount is one more than the greatest key.
	keyCount = 29
)

// kind is what there is to know of a record before its bytes are looked at.
type kind struct {
	name string
	max  int16
	// fresh makes one whose fields have their defaults, which the reader leaves where a tagged field is absent.
	fresh func() Record
}

// kinds is indexed by key; holes are numbers that no record has.
var kinds = [keyCount]kind{
	KeyRegisterBroker:            {"RegisterBrokerRecord", 4, func() Record { return new(RegisterBroker) }},
	KeyUnregisterBroker:          {"UnregisterBrokerRecord", 0, func() Record { return new(UnregisterBroker) }},
	KeyTopic:                     {"TopicRecord", 0, func() Record { return new(Topic) }},
	KeyPartition:                 {"PartitionRecord", 2, func() Record { return new(Partition) }},
	KeyConfig:                    {"ConfigRecord", 0, func() Record { return new(Config) }},
	KeyPartitionChange:           {"PartitionChangeRecord", 2, func() Record { return NewPartitionChange(0, [16]byte{}) }},
	KeyFenceBroker:               {"FenceBrokerRecord", 0, func() Record { return new(FenceBroker) }},
	KeyUnfenceBroker:             {"UnfenceBrokerRecord", 0, func() Record { return new(UnfenceBroker) }},
	KeyRemoveTopic:               {"RemoveTopicRecord", 0, func() Record { return new(RemoveTopic) }},
	KeyDelegationToken:           {"DelegationTokenRecord", 0, func() Record { return new(DelegationToken) }},
	KeyUserScramCredential:       {"UserScramCredentialRecord", 0, func() Record { return new(UserScramCredential) }},
	KeyFeatureLevel:              {"FeatureLevelRecord", 0, func() Record { return new(FeatureLevel) }},
	KeyClientQuota:               {"ClientQuotaRecord", 0, func() Record { return new(ClientQuota) }},
	KeyProducerIDs:               {"ProducerIdsRecord", 0, func() Record { return new(ProducerIDs) }},
	KeyBrokerRegistrationChange:  {"BrokerRegistrationChangeRecord", 3, func() Record { return new(BrokerRegistrationChange) }},
	KeyAccessControlEntry:        {"AccessControlEntryRecord", 0, func() Record { return new(AccessControlEntry) }},
	KeyRemoveAccessControlEntry:  {"RemoveAccessControlEntryRecord", 0, func() Record { return new(RemoveAccessControlEntry) }},
	KeyNoOp:                      {"NoOpRecord", 0, func() Record { return new(NoOp) }},
	KeyZkMigrationState:          {"ZkMigrationStateRecord", 0, func() Record { return new(ZkMigrationState) }},
	KeyRemoveUserScramCredential: {"RemoveUserScramCredentialRecord", 0, func() Record { return new(RemoveUserScramCredential) }},
	KeyBeginTransaction:          {"BeginTransactionRecord", 0, func() Record { return new(BeginTransaction) }},
	KeyEndTransaction:            {"EndTransactionRecord", 0, func() Record { return new(EndTransaction) }},
	KeyAbortTransaction:          {"AbortTransactionRecord", 0, func() Record { return new(AbortTransaction) }},
	KeyRemoveDelegationToken:     {"RemoveDelegationTokenRecord", 0, func() Record { return new(RemoveDelegationToken) }},
	KeyRegisterController:        {"RegisterControllerRecord", 0, func() Record { return new(RegisterController) }},
	KeyClearElr:                  {"ClearElrRecord", 0, func() Record { return new(ClearElr) }},
}

// String is the schema's name in Kafka.
func (k Key) String() string {
	if !k.known() {
		return "metadata record kind " + strconv.Itoa(int(k))
	}
	return kinds[k].name
}

func (k Key) known() bool { return k >= 0 && k < keyCount && kinds[k].fresh != nil }

// maxVersion is the newest version that is known here, -1 for a key that is not.
func (k Key) maxVersion() int16 {
	if !k.known() {
		return -1
	}
	return kinds[k].max
}

// fresh gives an empty record to read into, nil for an unknown key.
func (k Key) fresh() Record {
	if !k.known() {
		return nil
	}
	return kinds[k].fresh()
}
