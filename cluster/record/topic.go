package record

import (
	"troupe/codec/flexible"
	"troupe/internal/model"
)

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
//
//	version  0                                              + 1           + 2
//	         partition, topic, replicas, ISR, removing,      directories   ELR (tag 1),
//	         adding, leader, leader epoch, partition epoch,                last known ELR (tag 2)
//	         recovery state (tag 0)
type Partition struct {
	PartitionID         int32
	TopicID             model.TopicID
	Replicas            []model.BrokerID
	ISR                 []model.BrokerID
	RemovingReplicas    []model.BrokerID
	AddingReplicas      []model.BrokerID
	Leader              model.BrokerID
	LeaderRecoveryState int8
	LeaderEpoch         model.LeaderEpoch
	PartitionEpoch      model.PartitionEpoch
	// Directories is known from version 1 on: one a replica, in the order of Replicas (KIP-858).
	Directories []model.DirectoryID
	// EligibleLeaderReplicas and LastKnownELR are known from version 2 on (KIP-966); nil is none.
	EligibleLeaderReplicas []model.BrokerID
	LastKnownELR           []model.BrokerID
}

// PartitionChange changes the fields that are set and raises the partition epoch by one. A Leader that is set raises
// the leader epoch too, even when it is the same broker.
//
//	tag  0 ISR  1 leader  2 replicas  3 removing  4 adding  5 recovery state  6 ELR  7 last known ELR  8 directories
//
// Tags 6 and 7 are known from version 2 on, 8 from version 1 on.
type PartitionChange struct {
	PartitionID int32
	TopicID     model.TopicID
	// ISR and the other lists: nil leaves, an empty list empties.
	ISR []model.BrokerID
	// Leader is NoLeaderChange to leave, NoBroker when nobody can lead.
	Leader           model.BrokerID
	Replicas         []model.BrokerID
	RemovingReplicas []model.BrokerID
	AddingReplicas   []model.BrokerID
	// LeaderRecoveryState is NoRecoveryChange to leave.
	LeaderRecoveryState    int8
	Directories            []model.DirectoryID
	EligibleLeaderReplicas []model.BrokerID
	LastKnownELR           []model.BrokerID
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

func (r *Topic) fields(c *flexible.Coder, _ int16) {
	c.String(&r.Name)
	c.UUID(&r.ID)
	c.Tags()
}

// Key is 9.
func (*RemoveTopic) Key() Key { return KeyRemoveTopic }

func (r *RemoveTopic) fields(c *flexible.Coder, _ int16) {
	c.UUID(&r.ID)
	c.Tags()
}

// Key is 3.
func (*Partition) Key() Key { return KeyPartition }

// The order on the wire is the schema's, which puts the recovery state behind tag 0 although it is declared earlier.
func (r *Partition) fields(c *flexible.Coder, version int16) {
	flexible.Int32(c, &r.PartitionID)
	c.UUID(&r.TopicID)
	brokerIDs(c, &r.Replicas)
	brokerIDs(c, &r.ISR)
	brokerIDs(c, &r.RemovingReplicas)
	brokerIDs(c, &r.AddingReplicas)
	flexible.Int32(c, &r.Leader)
	flexible.Int32(c, &r.LeaderEpoch)
	flexible.Int32(c, &r.PartitionEpoch)
	if version >= 1 {
		c.UUIDs(&r.Directories)
	}
	c.Tags(
		flexible.Tag(0, r.LeaderRecoveryState != Recovered, func() { c.Int8(&r.LeaderRecoveryState) }),
		since(version, 2, flexible.Tag(1, r.EligibleLeaderReplicas != nil, func() { nullableBrokerIDs(c, &r.EligibleLeaderReplicas) })),
		since(version, 2, flexible.Tag(2, r.LastKnownELR != nil, func() { nullableBrokerIDs(c, &r.LastKnownELR) })),
	)
}

// Key is 5.
func (*PartitionChange) Key() Key { return KeyPartitionChange }

// Everything but the two ids is tagged: a change of an ISR takes some 30 bytes. Tags are in rising order, which is not the
// order of the schema.
func (r *PartitionChange) fields(c *flexible.Coder, version int16) {
	flexible.Int32(c, &r.PartitionID)
	c.UUID(&r.TopicID)
	c.Tags(
		flexible.Tag(0, r.ISR != nil, func() { nullableBrokerIDs(c, &r.ISR) }),
		flexible.Tag(1, r.Leader != NoLeaderChange, func() { flexible.Int32(c, &r.Leader) }),
		flexible.Tag(2, r.Replicas != nil, func() { nullableBrokerIDs(c, &r.Replicas) }),
		flexible.Tag(3, r.RemovingReplicas != nil, func() { nullableBrokerIDs(c, &r.RemovingReplicas) }),
		flexible.Tag(4, r.AddingReplicas != nil, func() { nullableBrokerIDs(c, &r.AddingReplicas) }),
		flexible.Tag(5, r.LeaderRecoveryState != NoRecoveryChange, func() { c.Int8(&r.LeaderRecoveryState) }),
		since(version, 2, flexible.Tag(6, r.EligibleLeaderReplicas != nil, func() { nullableBrokerIDs(c, &r.EligibleLeaderReplicas) })),
		since(version, 2, flexible.Tag(7, r.LastKnownELR != nil, func() { nullableBrokerIDs(c, &r.LastKnownELR) })),
		since(version, 1, flexible.Tag(8, r.Directories != nil, func() { c.NullableUUIDs(&r.Directories) })),
	)
}

// Key is 28.
func (*ClearElr) Key() Key { return KeyClearElr }

func (r *ClearElr) fields(c *flexible.Coder, _ int16) {
	c.String(&r.TopicName)
	c.Tags()
}
