package record

import "troupe/internal/model"

// Leader recovery states of a partition (facts/replication.md 1).
const (
	Recovered  int8 = 0
	Recovering int8 = 1
)

// Values of PartitionChange that leave a field as it is.
const (
	NoLeaderChange   model.BrokerID = -2
	NoRecoveryChange int8           = -1
)

// Topic creates a topic; its partitions follow as Partition records.
type Topic struct {
	Name string
	ID   model.TopicID
}

// RemoveTopic deletes a topic, its partitions and its configs.
type RemoveTopic struct {
	ID model.TopicID
}

// Partition creates a partition, or states it whole in a checkpoint.
type Partition struct {
	PartitionID            int32
	TopicID                model.TopicID
	Replicas               []model.BrokerID
	ISR                    []model.BrokerID
	RemovingReplicas       []model.BrokerID
	AddingReplicas         []model.BrokerID
	Leader                 model.BrokerID
	LeaderRecoveryState    int8
	LeaderEpoch            model.LeaderEpoch
	PartitionEpoch         model.PartitionEpoch
	Directories            []model.DirectoryID // version 1+: one a replica, in the order of Replicas
	EligibleLeaderReplicas []model.BrokerID    // version 2+, nil is none
	LastKnownELR           []model.BrokerID    // version 2+, nil is none
}

// PartitionChange changes the fields that are set and raises the partition epoch by one. A Leader that is set raises
// the leader epoch too, even when it is the same broker.
type PartitionChange struct {
	PartitionID            int32
	TopicID                model.TopicID
	ISR                    []model.BrokerID // nil leaves
	Leader                 model.BrokerID   // NoLeaderChange leaves
	Replicas               []model.BrokerID // nil leaves
	RemovingReplicas       []model.BrokerID // nil leaves
	AddingReplicas         []model.BrokerID // nil leaves
	LeaderRecoveryState    int8             // NoRecoveryChange leaves
	Directories            []model.DirectoryID
	EligibleLeaderReplicas []model.BrokerID // nil leaves
	LastKnownELR           []model.BrokerID // nil leaves
}

// ClearElr empties the eligible leaders of a topic's partitions, or of all partitions when the name is empty.
type ClearElr struct {
	TopicName string
}

// NewPartitionChange gives a change that leaves everything as it is.
func NewPartitionChange(partition int32, topic model.TopicID) *PartitionChange {
	return &PartitionChange{PartitionID: partition, TopicID: topic, Leader: NoLeaderChange, LeaderRecoveryState: NoRecoveryChange}
}

// Key is 2.
func (*Topic) Key() Key { return KeyTopic }

func (r *Topic) fields(c *coder, _ int16) {
	c.string(&r.Name)
	c.uuid(&r.ID)
	c.tags()
}

// Key is 9.
func (*RemoveTopic) Key() Key { return KeyRemoveTopic }

func (r *RemoveTopic) fields(c *coder, _ int16) {
	c.uuid(&r.ID)
	c.tags()
}

// Key is 3.
func (*Partition) Key() Key { return KeyPartition }

func (r *Partition) fields(c *coder, version int16) {
	codeInt32(c, &r.PartitionID)
	c.uuid(&r.TopicID)
	c.brokers(&r.Replicas)
	c.brokers(&r.ISR)
	c.brokers(&r.RemovingReplicas)
	c.brokers(&r.AddingReplicas)
	codeInt32(c, &r.Leader)
	codeInt32(c, &r.LeaderEpoch)
	codeInt32(c, &r.PartitionEpoch)
	if version >= 1 {
		c.uuids(&r.Directories)
	}
	c.tags(
		field{0, r.LeaderRecoveryState != Recovered, func() { c.int8(&r.LeaderRecoveryState) }},
		since(version, 2, field{1, r.EligibleLeaderReplicas != nil, func() { c.nullableBrokers(&r.EligibleLeaderReplicas) }}),
		since(version, 2, field{2, r.LastKnownELR != nil, func() { c.nullableBrokers(&r.LastKnownELR) }}),
	)
}

// Key is 5.
func (*PartitionChange) Key() Key { return KeyPartitionChange }

func (r *PartitionChange) fields(c *coder, version int16) {
	codeInt32(c, &r.PartitionID)
	c.uuid(&r.TopicID)
	c.tags(
		field{0, r.ISR != nil, func() { c.nullableBrokers(&r.ISR) }},
		field{1, r.Leader != NoLeaderChange, func() { codeInt32(c, &r.Leader) }},
		field{2, r.Replicas != nil, func() { c.nullableBrokers(&r.Replicas) }},
		field{3, r.RemovingReplicas != nil, func() { c.nullableBrokers(&r.RemovingReplicas) }},
		field{4, r.AddingReplicas != nil, func() { c.nullableBrokers(&r.AddingReplicas) }},
		field{5, r.LeaderRecoveryState != NoRecoveryChange, func() { c.int8(&r.LeaderRecoveryState) }},
		since(version, 2, field{6, r.EligibleLeaderReplicas != nil, func() { c.nullableBrokers(&r.EligibleLeaderReplicas) }}),
		since(version, 2, field{7, r.LastKnownELR != nil, func() { c.nullableBrokers(&r.LastKnownELR) }}),
		since(version, 1, field{8, r.Directories != nil, func() { c.nullableUUIDs(&r.Directories) }}),
	)
}

// Key is 28.
func (*ClearElr) Key() Key { return KeyClearElr }

func (r *ClearElr) fields(c *coder, _ int16) {
	c.string(&r.TopicName)
	c.tags()
}
