package record

import (
	"slices"
	"strconv"
)

// MetadataVersion is the level of the feature metadata.version (KIP-778): it decides which records and which fields of
// them may be written, so that every member of a cluster can read what any of them writes.
type MetadataVersion int16

// The levels at which this software writes something new, and the ends of what it understands.
const (
	// MinMetadataVersion is 3.3-IV3, the oldest that Kafka 4 starts from.
	MinMetadataVersion MetadataVersion = 7
	// MigrationFlags is 3.4-IV0: IsMigratingZkBroker in registrations.
	MigrationFlags MetadataVersion = 8
	// Scram is 3.5-IV2: SCRAM credentials in the log (KIP-900).
	Scram MetadataVersion = 11
	// SteadyEpochs is 3.6-IV0: an ISR that shrinks leaves the leader epoch as it is (KAFKA-15021).
	SteadyEpochs MetadataVersion = 12
	// Transactions is 3.6-IV1: begin, end and abort records (KIP-868).
	Transactions MetadataVersion = 13
	// DelegationTokens is 3.6-IV2 (KIP-900).
	DelegationTokens MetadataVersion = 14
	// ControllerRegistrations is 3.7-IV0 (KIP-919).
	ControllerRegistrations MetadataVersion = 15
	// Directories is 3.7-IV2: a log directory for each replica (KIP-858).
	Directories MetadataVersion = 17
	// EligibleLeaders is 4.0-IV1: ELR fields (KIP-966).
	EligibleLeaders MetadataVersion = 23
	// CordonedDirectories is 4.3-IV0 (KIP-1066).
	CordonedDirectories MetadataVersion = 30
	// LatestMetadataVersion is 4.3-IV0, what a new cluster starts with.
	LatestMetadataVersion = CordonedDirectories
)

// metadataVersionNames are Kafka's release names by level, from level 7 (facts/README.md, "Wire rules"). Most levels
// brought requests or semantics and no record.
var metadataVersionNames = []string{
	"3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
	"3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0",
	"4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0",
}

// String is Kafka's name of the level ("4.3-IV0"), or the bare number of one that is not known here.
func (v MetadataVersion) String() string {
	if !v.Supported() {
		return strconv.Itoa(int(v))
	}
	return metadataVersionNames[v-MinMetadataVersion]
}

// Supported tells whether this software can run at level v.
func (v MetadataVersion) Supported() bool {
	return v >= MinMetadataVersion && v <= LatestMetadataVersion
}

// writers are the levels from which something new is written to the log.
var writers = []MetadataVersion{
	MigrationFlags, Scram, Transactions, DelegationTokens, ControllerRegistrations, Directories, EligibleLeaders, CordonedDirectories,
}

// WritesAs tells that level v writes nothing that an older one does not.
func (v MetadataVersion) WritesAs(older MetadataVersion) bool {
	return !slices.ContainsFunc(writers, func(w MetadataVersion) bool { return older < w && w <= v })
}

// versionSteps lists, for the kinds with several versions, the level from which each version above 0 is written.
var versionSteps = [keyCount][]MetadataVersion{
	KeyRegisterBroker:           {MinMetadataVersion, MigrationFlags, Directories, CordonedDirectories},
	KeyBrokerRegistrationChange: {MinMetadataVersion, Directories, CordonedDirectories},
	KeyPartition:                {Directories, EligibleLeaders},
	KeyPartitionChange:          {Directories, EligibleLeaders},
}

// VersionAt is the version in which a record of kind k is written at a level; -1 for a kind that is not known.
// The newest version is taken even where an older one would do: whoever runs at the level can read it.
func VersionAt(k Key, level MetadataVersion) int16 {
	if !k.known() {
		return -1
	}
	var version int16
	for _, from := range versionSteps[k] {
		if level < from {
			break
		}
		version++
	}
	return version
}
