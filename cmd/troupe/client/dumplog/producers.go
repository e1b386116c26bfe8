package dumplog

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"troupe/partitionlog/producer"
)

// producerLine is an entry of a producer snapshot. The batch is nil for a producer of which only a marker is known.
type producerLine struct {
	ProducerID       int64      `json:"producerId"`
	ProducerEpoch    int16      `json:"producerEpoch"`
	CoordinatorEpoch int32      `json:"coordinatorEpoch"`
	TxnFirstOffset   *int64     `json:"currentTxnFirstOffset,omitempty"`
	LastTimestamp    int64      `json:"lastTimestamp"`
	Batch            *lastBatch `json:"batch,omitempty"`
}

// lastBatch is the newest batch of a producer: snapshots keep that one of the five a broker remembers (KIP-98).
type lastBatch struct {
	FirstSequence int32 `json:"firstSequence"`
	LastSequence  int32 `json:"lastSequence"`
	LastOffset    int64 `json:"lastOffset"`
	OffsetDelta   int32 `json:"offsetDelta"`
	Timestamp     int64 `json:"timestamp"`
}

func (p producerLine) String() string {
	text := fmt.Sprintf("producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d",
		p.ProducerID, p.ProducerEpoch, p.CoordinatorEpoch, optionalLong(p.TxnFirstOffset), p.LastTimestamp)
	if b := p.Batch; b != nil {
		text += fmt.Sprintf(" firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d",
			b.FirstSequence, b.LastSequence, b.LastOffset, b.OffsetDelta, b.Timestamp)
	}
	return text
}

// producers shows a producer snapshot. A corrupt one is reported and does not end the command.
func (d *dumper) producers(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	entries, err := producer.DecodeSnapshot(b)
	if err != nil {
		fmt.Fprintf(d.errs, "%s: %s\n", file, err)
		return nil
	}
	for _, e := range entries {
		l := producerLine{
			ProducerID: int64(e.ProducerID), ProducerEpoch: int16(e.Epoch), CoordinatorEpoch: int32(e.CoordinatorEpoch), LastTimestamp: e.TimestampMs,
		}
		// -1 in the file: no transaction is open.
		if first := int64(e.TxnFirstOffset); first >= 0 {
			l.TxnFirstOffset = &first
		}
		if e.LastOffset >= 0 {
			l.Batch = &lastBatch{
				firstSequence(int32(e.LastSequence), e.OffsetDelta), int32(e.LastSequence), int64(e.LastOffset), e.OffsetDelta, e.TimestampMs,
			}
		}
		d.emit(l)
	}
	return nil
}

// firstSequence counts back from the last one; before 0 comes 2^31-1.
func firstSequence(last, delta int32) int32 {
	if last < delta {
		return math.MaxInt32 - (delta - last) + 1
	}
	return last - delta
}

// abortedEntry is an entry of a transaction index (facts/storage-format.md): version int16, then four int64.
const abortedEntry = 34

// abortedLine is an aborted transaction.
type abortedLine struct {
	Version          int16 `json:"version"`
	ProducerID       int64 `json:"producerId"`
	FirstOffset      int64 `json:"firstOffset"`
	LastOffset       int64 `json:"lastOffset"`
	LastStableOffset int64 `json:"lastStableOffset"`
}

func (a abortedLine) String() string {
	return fmt.Sprintf("version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d",
		a.Version, a.ProducerID, a.FirstOffset, a.LastOffset, a.LastStableOffset)
}

// aborted shows a transaction index.
func (d *dumper) aborted(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for i := 0; i+abortedEntry <= len(b); i += abortedEntry {
		at := func(n int) int64 { return int64(binary.BigEndian.Uint64(b[i+2+8*n:])) }
		d.emit(abortedLine{int16(binary.BigEndian.Uint16(b[i:])), at(0), at(1), at(2), at(3)})
	}
	return nil
}
