package image

import (
	"iter"

	"troupe/cluster/record"
)

// Names of the features whose levels the metadata log holds (KIP-584). kraft.version lives in the quorum's control
// records instead.
const (
	// MetadataVersionFeature gates the records themselves (KIP-778).
	MetadataVersionFeature = "metadata.version"
	// GroupVersionFeature 1 allows groups of the new protocol (KIP-848).
	GroupVersionFeature = "group.version"
	// TransactionVersionFeature 1 has flexible records, 2 a new epoch for each transaction (KIP-890).
	TransactionVersionFeature = "transaction.version"
	// ShareVersionFeature 1 allows share groups (KIP-932).
	ShareVersionFeature = "share.version"
	// StreamsVersionFeature 1 allows streams groups (KIP-1071).
	StreamsVersionFeature = "streams.version"
	// ELRVersionFeature 1 keeps eligible leaders (KIP-966).
	ELRVersionFeature = "eligible.leader.replicas.version"
)

// Feature gives the finalized level of a feature, 0 for one that is off or unknown.
func (i *Image) Feature(name string) int16 {
	level, _ := i.features.get(name)
	return level
}

// Features walks the features with a level above 0 in order of name.
func (i *Image) Features() iter.Seq2[string, int16] { return i.features.all() }

// MetadataVersion is the level of metadata.version, or the oldest one before the first record says so.
func (i *Image) MetadataVersion() record.MetadataVersion {
	if level, ok := i.features.get(MetadataVersionFeature); ok {
		return record.MetadataVersion(level)
	}
	return record.MinMetadataVersion
}
