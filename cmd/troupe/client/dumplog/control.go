package dumplog

import (
	"encoding/binary"
	"fmt"

	"troupe/cmd/troupe/client/schema"
	"troupe/codec/batch"
)

// controls are the control records of the metadata log (KIP-595, KIP-630, KIP-853): how each begins in the output, and its
// description. End markers of transactions (KIP-98) are shown without JSON and stand apart.
var controls = map[batch.ControlType]struct{ text, record string }{
	batch.LeaderChangeType:   {"LeaderChange: ", "LeaderChangeMessage"},
	batch.SnapshotHeaderType: {"SnapshotHeader ", "SnapshotHeaderRecord"},
	batch.SnapshotFooterType: {"SnapshotFooter ", "SnapshotFooterRecord"},
	batch.KRaftVersionType:   {"KRaftVersion ", "KRaftVersionRecord"},
	batch.VotersType:         {"KRaftVoters ", "VotersRecord"},
}

// control says what a control record is. One that is not known or cut off is shown by its number.
func control(key, value []byte) string {
	const keySize = 4 // version int16, type int16
	if len(key) < keySize {
		return "controlType: UNKNOWN(-1)"
	}
	kind := batch.ControlType(binary.BigEndian.Uint16(key[2:]))
	if kind == batch.AbortType || kind == batch.CommitType {
		marker, err := batch.ParseControl(key, value)
		end, ok := marker.(batch.EndTxnMarker)
		switch {
		case err != nil || !ok:
			return fmt.Sprintf("controlType: UNKNOWN(%d)", kind)
		case end.Commit:
			return fmt.Sprintf("endTxnMarker: COMMIT coordinatorEpoch: %d", end.CoordinatorEpoch)
		}
		return fmt.Sprintf("endTxnMarker: ABORT coordinatorEpoch: %d", end.CoordinatorEpoch)
	}
	known, ok := controls[kind]
	if !ok || len(value) < 2 {
		return fmt.Sprintf("controlType: UNKNOWN(%d)", kind)
	}
	// The version that opens the value is also a field of it.
	object, err := schema.Named(known.record).Read(int16(binary.BigEndian.Uint16(value)), value)
	if err != nil {
		return known.text + err.Error()
	}
	return known.text + object.String()
}
