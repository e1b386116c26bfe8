// Package model holds the identifiers that every layer shares: one type a number, so that an offset is never
// passed where an epoch is meant.
package model

import (
	"cmp"
	"strconv"
)

// Offset is the position of a record in a partition's log, counted in records from 0.
type Offset int64

// NoOffset stands for "not known" or "none" on the wire and in files.
const NoOffset Offset = -1

// LeaderEpoch counts the leaderships of a partition (KIP-101); the metadata log uses raft's term.
type LeaderEpoch int32

// NoLeaderEpoch skips the epoch check of a request, or says that an epoch is unknown.
const NoLeaderEpoch LeaderEpoch = -1

// PartitionEpoch counts the change records of a partition (KIP-841).
type PartitionEpoch int32

// BrokerID is node.id; -1 is none.
type BrokerID int32

// NoBroker stands where a partition has no leader, or a client is not a replica.
const NoBroker BrokerID = -1

// BrokerEpoch is the offset of the broker's registration record in the metadata log (KIP-500).
type BrokerEpoch int64

// ProducerID names an idempotent producer (KIP-98); -1 is none.
type ProducerID int64

// NoProducerID marks a batch of a producer without idempotence.
const NoProducerID ProducerID = -1

// ProducerEpoch fences older incarnations of a producer id.
type ProducerEpoch int16

// Sequence numbers the records of a producer in a partition and wraps from 2^31-1 to 0.
type Sequence int32

// CoordinatorEpoch is the leader epoch of the coordinator that wrote a transaction marker.
type CoordinatorEpoch int32

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String gives "topic-partition", the name of its directory.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Compare orders by topic, then by partition number.
func (tp TopicPartition) Compare(o TopicPartition) int {
	if c := cmp.Compare(tp.Topic, o.Topic); c != 0 {
		return c
	}
	return cmp.Compare(tp.Partition, o.Partition)
}
