package batch

import (
	"encoding/binary"
	"fmt"

	"troupe/internal/model"
)

// ControlType is the second number in the key of a control record; the first is the version 0 of the key itself:
//
//	key: version int16 | type int16
//
// Types that are not known here are to be passed over, not refused (facts/storage-format.md 4).
type ControlType int16

// The types. From LeaderChangeType on they stand in the metadata log alone.
const (
	AbortType ControlType = iota
	CommitType
	LeaderChangeType
	SnapshotHeaderType
	SnapshotFooterType
	KRaftVersionType
	VotersType
)

// ControlRecord is what a record of a control batch says.
type ControlRecord interface {
	// ControlType goes into the key.
	ControlType() ControlType
	// AppendValue writes the value behind dst.
	AppendValue(dst []byte) []byte
}

// EndTxnMarker ends a producer's transaction in a partition:
//
//	version int16 (0) | coordinator epoch int32
type EndTxnMarker struct {
	Commit           bool
	CoordinatorEpoch model.CoordinatorEpoch
}

// ControlType is CommitType or AbortType.
func (m EndTxnMarker) ControlType() ControlType {
	if m.Commit {
		return CommitType
	}
	return AbortType
}

// AppendValue is ControlRecord's.
func (m EndTxnMarker) AppendValue(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0, 0), uint32(m.CoordinatorEpoch))
}

// UnknownControl is a control record of a type that is not known here.
type UnknownControl struct {
	Type  ControlType
	Value []byte
}

// ControlType is the type that the record came with.
func (u UnknownControl) ControlType() ControlType { return u.Type }

// AppendValue is ControlRecord's.
func (u UnknownControl) AppendValue(dst []byte) []byte { return append(dst, u.Value...) }

// NewControlBatch makes a batch of control records with one timestamp, in milliseconds. Control is set, and a producer's
// Sequence should be -1: markers have none.
func NewControlBatch(o Options, timestamp int64, records ...ControlRecord) (View, error) {
	o.Control = true
	b := NewBuilder(o)
	for _, r := range records {
		key := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(r.ControlType()))
		b.Add(Record{Timestamp: timestamp, Key: key, Value: r.AppendValue(nil)})
	}
	return b.Build()
}

// leastMarker is the bytes of an end marker; a later version may have more, behind what is known.
const leastMarker = 6

// ParseControl reads a record of a control batch. It fails when the key or value is cut off or of a version that is not
// readable here; the key's version may be newer, since later ones only add to it.
func ParseControl(key, value []byte) (ControlRecord, error) {
	if len(key) < 4 {
		return nil, fmt.Errorf("control record with a key of %d bytes", len(key))
	}
	switch t := ControlType(binary.BigEndian.Uint16(key[2:])); t {
	case AbortType, CommitType:
		if len(value) < leastMarker {
			return nil, fmt.Errorf("transaction marker of %d bytes", len(value))
		}
		epoch := model.CoordinatorEpoch(binary.BigEndian.Uint32(value[2:]))
		return EndTxnMarker{Commit: t == CommitType, CoordinatorEpoch: epoch}, nil
	case LeaderChangeType, SnapshotHeaderType, SnapshotFooterType, KRaftVersionType, VotersType:
		return parseQuorumControl(t, value)
	default:
		return UnknownControl{Type: t, Value: value}, nil
	}
}
