package producer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"troupe/internal/model"
)

// A producer snapshot, the file <offset>.snapshot, all numbers big-endian (facts/storage-format.md 5, facts/records.md
// ProducerSnapshot):
//
//	version  int16   1
//	crc      uint32  CRC-32C of all that follows it
//	count    int32
//	count times 46 bytes:
//	  producer id int64 · epoch int16 · last sequence int32 · last offset int64 · offset delta int32
//	  timestamp int64 · coordinator epoch int32 · first offset of the open transaction int64
const (
	snapshotVersion    = 1
	snapshotHeaderSize = 2 + 4 + 4
	snapshotCRCEnd     = 2 + 4
	snapshotEntrySize  = 46
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SnapshotError says what is wrong with the bytes of a snapshot, and where.
type SnapshotError struct {
	Offset int64 // of the bytes in the file
	Reason string
}

func (e *SnapshotError) Error() string {
	return fmt.Sprintf("producer snapshot, byte %d: %s", e.Offset, e.Reason)
}

// AppendSnapshot appends the bytes of a snapshot file to dst.
func AppendSnapshot(dst []byte, entries []Entry) []byte {
	start := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint16(dst, snapshotVersion)
	dst = be.AppendUint32(dst, 0)
	dst = be.AppendUint32(dst, uint32(len(entries)))
	for _, e := range entries {
		dst = be.AppendUint64(dst, uint64(e.ProducerID))
		dst = be.AppendUint16(dst, uint16(e.Epoch))
		dst = be.AppendUint32(dst, uint32(e.LastSequence))
		dst = be.AppendUint64(dst, uint64(e.LastOffset))
		dst = be.AppendUint32(dst, uint32(e.OffsetDelta))
		dst = be.AppendUint64(dst, uint64(e.TimestampMs))
		dst = be.AppendUint32(dst, uint32(e.CoordinatorEpoch))
		dst = be.AppendUint64(dst, uint64(e.TxnFirstOffset))
	}
	sum := crc32.Checksum(dst[start+snapshotCRCEnd:], castagnoli)
	be.PutUint32(dst[start+2:], sum)
	return dst
}

// DecodeSnapshot reads the bytes of a snapshot file. The error is a *SnapshotError: a log without a sound snapshot takes an
// older one and replays from there.
func DecodeSnapshot(b []byte) ([]Entry, error) {
	if len(b) < snapshotHeaderSize {
		return nil, &SnapshotError{int64(len(b)), "ends within the header"}
	}
	be := binary.BigEndian
	if v := be.Uint16(b); v != snapshotVersion {
		return nil, &SnapshotError{0, fmt.Sprintf("version %d, want %d", int16(v), snapshotVersion)}
	}
	if want, got := be.Uint32(b[2:]), crc32.Checksum(b[snapshotCRCEnd:], castagnoli); want != got {
		return nil, &SnapshotError{2, fmt.Sprintf("crc %08x, but the content has %08x", want, got)}
	}
	count, body := be.Uint32(b[snapshotCRCEnd:]), b[snapshotHeaderSize:]
	// The count is believed only as far as there are bytes for it; nothing is allocated before.
	if uint64(len(body)) != uint64(count)*snapshotEntrySize {
		return nil, &SnapshotError{snapshotCRCEnd, fmt.Sprintf("counts %d entries of %d bytes, but %d bytes follow",
			int32(count), snapshotEntrySize, len(body))}
	}
	entries := make([]Entry, 0, count)
	seen := make(map[model.ProducerID]struct{}, count)
	for at := int64(snapshotHeaderSize); len(body) > 0; at, body = at+snapshotEntrySize, body[snapshotEntrySize:] {
		e := Entry{
			ProducerID:       model.ProducerID(be.Uint64(body)),
			Epoch:            model.ProducerEpoch(be.Uint16(body[8:])),
			LastSequence:     model.Sequence(be.Uint32(body[10:])),
			LastOffset:       model.Offset(be.Uint64(body[14:])),
			OffsetDelta:      int32(be.Uint32(body[22:])),
			TimestampMs:      int64(be.Uint64(body[26:])),
			CoordinatorEpoch: model.CoordinatorEpoch(be.Uint32(body[34:])),
			TxnFirstOffset:   model.Offset(be.Uint64(body[38:])),
		}
		// A right checksum does not make the content right: a producer that stood twice would break the state's invariants.
		if _, twice := seen[e.ProducerID]; twice {
			return nil, &SnapshotError{at, fmt.Sprintf("producer %d stands twice", e.ProducerID)}
		}
		if e.OffsetDelta < 0 {
			return nil, &SnapshotError{at + 22, fmt.Sprintf("offset delta %d is negative", e.OffsetDelta)}
		}
		seen[e.ProducerID] = struct{}{}
		entries = append(entries, e)
	}
	return entries, nil
}
