// Package record reads and writes the records of __consumer_offsets in Kafka's own encoding, so that Kafka's tools read
// the topic, and this broker one that Kafka wrote (facts/groups-txn.md, F; facts/records.md).
//
//	key    int16 type, then the key's fields
//	value  int16 version, then the value's fields; null is a tombstone
//
//	type  key                        value
//	0, 1  group, topic, partition    a committed offset; 0 is the form of Kafka before 0.8.2
//	2     group                      a classic group's last stable or empty state
//	3-8   group, some: member        groups of the consumer protocol (Kind)
//	16    group, regular expression  the topics that it names
package record

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
)

// The types of keys that this package knows.
const (
	oldOffsetType = 0
	offsetType    = 1
	groupType     = 2
)

// The versions of values that are written: those of Kafka 4.3.
const (
	groupVersion  = 3
	offsetVersion = 4
	// expiringVersion is the only one with a time of expiry, which OffsetCommit requests could ask for up to version 4.
	expiringVersion = 1
)

// ErrUnknownType says that a record is of a kind that newer software, or another protocol's groups, wrote: it is passed
// over.
var ErrUnknownType = errors.New("record type is not known")

// Offset is the key of a committed offset.
type Offset struct {
	Group     string
	Topic     string
	Partition int32
}

// Entry is a decoded record: exactly one of the keys is set, and of a record that is no tombstone the value under it.
type Entry struct {
	Offset    *Offset
	Committed *kmsg.OffsetCommitValue

	Group string // the key of a classic group's state: set when Offset and Consumer are nil
	State *kmsg.GroupMetadataValue

	Consumer *ConsumerKey
	Value    Value
}

// Decode reads a record. The entry keeps nothing of its bytes. Errors: ErrUnknownType, or what is wrong with it.
func Decode(r coordinator.Record) (Entry, error) {
	if len(r.Key) < 2 {
		return Entry{}, fmt.Errorf("a key of %d bytes has no type", len(r.Key))
	}
	switch kind := int16(binary.BigEndian.Uint16(r.Key)); kind {
	case oldOffsetType, offsetType:
		return decodeOffset(r)
	case groupType:
		return decodeGroup(r)
	default:
		if Kind(kind).fresh() == nil {
			return Entry{}, fmt.Errorf("%w: %d", ErrUnknownType, kind)
		}
		return decodeConsumer(Kind(kind), r)
	}
}

func decodeOffset(r coordinator.Record) (Entry, error) {
	var key kmsg.OffsetCommitKey
	if err := key.ReadFrom(r.Key); err != nil {
		return Entry{}, fmt.Errorf("key of a committed offset: %w", err)
	}
	e := Entry{Offset: &Offset{Group: key.Group, Topic: key.Topic, Partition: key.Partition}}
	if r.Value == nil {
		return e, nil
	}
	if err := known(r.Value, offsetVersion); err != nil {
		return Entry{}, fmt.Errorf("committed offset of group %q for %s-%d: %w", key.Group, key.Topic, key.Partition, err)
	}
	v := kmsg.NewOffsetCommitValue()
	v.LeaderEpoch, v.ExpireTimestamp = -1, -1
	if err := v.ReadFrom(r.Value); err != nil {
		return Entry{}, fmt.Errorf("committed offset of group %q for %s-%d: %w", key.Group, key.Topic, key.Partition, err)
	}
	if v.Version < 3 {
		v.LeaderEpoch = -1 // kmsg gives 0 for what the version does not have
	}
	if v.Version != expiringVersion {
		v.ExpireTimestamp = -1
	}
	e.Committed = &v
	return e, nil
}

func decodeGroup(r coordinator.Record) (Entry, error) {
	var key kmsg.GroupMetadataKey
	if err := key.ReadFrom(r.Key); err != nil {
		return Entry{}, fmt.Errorf("key of a group: %w", err)
	}
	e := Entry{Group: key.Group}
	if r.Value == nil {
		return e, nil
	}
	if err := known(r.Value, 4); err != nil {
		return Entry{}, fmt.Errorf("state of group %q: %w", key.Group, err)
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(append([]byte(nil), r.Value...)); err != nil { // kmsg's byte slices point into what it reads
		return Entry{}, fmt.Errorf("state of group %q: %w", key.Group, err)
	}
	e.State = &v
	return e, nil
}

// known refuses the versions of newer software: their fields may mean something else.
func known(value []byte, newest int16) error {
	if len(value) < 2 {
		return fmt.Errorf("a value of %d bytes has no version", len(value))
	}
	if v := int16(binary.BigEndian.Uint16(value)); v < 0 || v > newest {
		return fmt.Errorf("version %d is not known, the newest known one is %d", v, newest)
	}
	return nil
}

// CommitOffset makes the record of a committed offset. A time of expiry takes the version that has one, at the cost of
// the leader epoch, as in Kafka.
func CommitOffset(o Offset, v kmsg.OffsetCommitValue) coordinator.Record {
	v.Version = offsetVersion
	if v.ExpireTimestamp >= 0 {
		v.Version = expiringVersion
	}
	return coordinator.Record{Key: o.key(), Value: v.AppendTo(nil)}
}

// DeleteOffset makes the tombstone of a committed offset.
func DeleteOffset(o Offset) coordinator.Record { return coordinator.Record{Key: o.key()} }

func (o Offset) key() []byte {
	k := kmsg.OffsetCommitKey{Version: offsetType, Group: o.Group, Topic: o.Topic, Partition: o.Partition}
	return k.AppendTo(nil)
}

// StoreGroup makes the record of a classic group's state.
func StoreGroup(group string, v kmsg.GroupMetadataValue) coordinator.Record {
	v.Version = groupVersion
	return coordinator.Record{Key: groupKey(group), Value: v.AppendTo(nil)}
}

// DeleteGroup makes the tombstone of a classic group.
func DeleteGroup(group string) coordinator.Record { return coordinator.Record{Key: groupKey(group)} }

func groupKey(group string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupType, Group: group}
	return k.AppendTo(nil)
}
