package image

import (
	"iter"

	"troupe/cluster/record"
)

// Names of the features whose levels the metadata log holds (KIP-584). kraft.version lives in the quorum's control
// records instead.
const (
	MetadataVersionFeature    = "metadata.version"
	GroupVersionFeature       = "group.version"
	TransactionVersionFeature = "transaction.version"
	ShareVersionFeature       = "share.version"
	StreamsVersionFeature     = "streams.version"
	ELRVersionFeature         = "eligible.leader.replicas.version"
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
