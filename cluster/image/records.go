package image

import (
	"iter"

	"troupe/cluster/record"
	"troupe/internal/model"
)

// Records gives the records that rebuild the image from an empty one, in Kafka's order: features, brokers, controllers,
// topics, configs, quotas, producer ids, ACLs, credentials, tokens. This is what a checkpoint holds.
func (i *Image) Records() iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		_ = i.featureRecords(yield) && i.nodeRecords(yield) && i.topicRecords(yield) && i.configRecords(yield) &&
			i.securityRecords(yield)
	}
}

// featureRecords begins with metadata.version, which decides how the rest is encoded.
func (i *Image) featureRecords(yield func(record.Record) bool) bool {
	if level, ok := i.features.get(MetadataVersionFeature); ok {
		if !yield(&record.FeatureLevel{Name: MetadataVersionFeature, Level: level}) {
			return false
		}
	}
	for name, level := range i.features.all() {
		if name != MetadataVersionFeature && !yield(&record.FeatureLevel{Name: name, Level: level}) {
			return false
		}
	}
	return i.migration == nil || yield(i.migration)
}

// nodeRecords has the fenced brokers too: their partitions name them.
func (i *Image) nodeRecords(yield func(record.Record) bool) bool {
	for _, b := range i.brokers.all() {
		if !yield(b.record()) {
			return false
		}
	}
	for _, c := range i.controllers.all() {
		if !yield(c) {
			return false
		}
	}
	return true
}

// record states the registration as it is now, with the changes since in it.
func (b *Broker) record() *record.RegisterBroker {
	return &record.RegisterBroker{
		BrokerID: b.ID, IsMigratingZkBroker: b.migrating, IncarnationID: b.IncarnationID, BrokerEpoch: b.Epoch,
		Endpoints: b.Endpoints, Features: b.Features, Rack: b.Rack, Fenced: b.Fenced,
		InControlledShutdown: b.InControlledShutdown, LogDirs: b.LogDirs, CordonedLogDirs: b.CordonedLogDirs,
	}
}

// topicRecords puts a topic's partitions behind it, in order, as replay wants them.
func (i *Image) topicRecords(yield func(record.Record) bool) bool {
	for _, t := range i.byName.all() {
		if !yield(&record.Topic{Name: t.Name, ID: t.ID}) {
			return false
		}
		for n, p := range t.Partitions {
			if !yield(p.record(t.ID, int32(n))) {
				return false
			}
		}
	}
	return true
}

// record writes a partition whole, as a checkpoint has it: no change records are left to be replayed on it.
func (p *Partition) record(id model.TopicID, n int32) *record.Partition {
	return &record.Partition{
		PartitionID: n, TopicID: id, Replicas: p.Replicas, ISR: p.ISR, RemovingReplicas: p.Removing,
		AddingReplicas: p.Adding, Leader: p.Leader, LeaderRecoveryState: p.LeaderRecoveryState,
		LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch, Directories: p.Directories,
		EligibleLeaderReplicas: p.ELR, LastKnownELR: p.LastKnownELR,
	}
}

// configRecords has the producer ids too. Who got the last block is not kept, as Kafka does not keep it.
func (i *Image) configRecords(yield func(record.Record) bool) bool {
	for r, c := range i.configs.all() {
		for key, value := range c.All() {
			set := &record.Config{ResourceType: int8(r.Type), ResourceName: r.Name, Name: key, Value: &value}
			if !yield(set) {
				return false
			}
		}
	}
	for _, q := range i.quotas.all() {
		for _, v := range q.values {
			if !yield(&record.ClientQuota{Entity: q.entity, QuotaKey: v.key, Value: v.value}) {
				return false
			}
		}
	}
	return i.NextProducerID == 0 ||
		yield(&record.ProducerIDs{BrokerID: model.NoBroker, BrokerEpoch: -1, NextProducerID: i.NextProducerID})
}

// securityRecords are written even where nothing here reads them: a checkpoint that left them out would delete them.
func (i *Image) securityRecords(yield func(record.Record) bool) bool {
	for _, e := range i.acls.all() {
		if !yield(e) {
			return false
		}
	}
	for _, c := range i.scram.all() {
		if !yield(c) {
			return false
		}
	}
	for _, t := range i.tokens.all() {
		if !yield(t) {
			return false
		}
	}
	return true
}
