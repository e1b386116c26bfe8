package quorum

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// A checkpoint is a file of record batches, offsets counted from 0:
//
//	control batch   SNAPSHOT_HEADER, and from kraft.version 1 on KRAFT_VERSION and KRAFT_VOTERS
//	batches         the metadata records that give the image, without transactions
//	control batch   SNAPSHOT_FOOTER
//
// The file's name says where it ends. A file without the footer was cut off.

// ErrTruncated says that a checkpoint ends before its footer.
var ErrTruncated = errors.New("the checkpoint has no footer: it was cut off")

// checkpointBatchBytes is when a batch of a checkpoint is closed, so that neither writer nor reader holds more.
const checkpointBatchBytes = 256 << 10

// CheckpointName is the file's name, such as 00000000000000000051-0000000001.checkpoint.
func CheckpointName(end model.Offset, epoch model.LeaderEpoch) string {
	return fmt.Sprintf("%020d-%010d.checkpoint", end, epoch)
}

// ParseCheckpointName reads a file's name; ok is false for any other file.
func ParseCheckpointName(name string) (end model.Offset, epoch model.LeaderEpoch, ok bool) {
	n, err := fmt.Sscanf(name, "%020d-%010d.checkpoint", &end, &epoch)
	return end, epoch, err == nil && n == 2 && name == CheckpointName(end, epoch)
}

// Checkpoint is what a checkpoint file says.
type Checkpoint struct {
	Boundary
	// KRaftVersion 0 leaves the voters out of the file.
	KRaftVersion int16
	// LastTimestamp is that of the last record the checkpoint stands for, in milliseconds.
	LastTimestamp int64
	// Level decides the versions of the records.
	Level record.MetadataVersion
}

// Batches gives the file's batches in order, one at a time; now stamps them.
func (c Checkpoint) Batches(records iter.Seq[record.Record], now time.Time) iter.Seq2[batch.View, error] {
	return func(yield func(batch.View, error) bool) {
		w := checkpointWriter{c: c, nowMs: now.UnixMilli()}
		if !yield(w.control(c.head()...)) {
			return
		}
		b := w.builder(false)
		for r := range records {
			value, err := record.Append(nil, r, c.Level)
			if err != nil {
				yield(nil, err)
				return
			}
			b.Add(batch.Record{Timestamp: w.nowMs, Value: value})
			if b.Size() < checkpointBatchBytes {
				continue
			}
			if !yield(w.close(b)) {
				return
			}
			b = w.builder(false)
		}
		if b.Count() > 0 && !yield(w.close(b)) {
			return
		}
		yield(w.control(batch.SnapshotFooter{}))
	}
}

// head is the first batch: a quorum of kraft.version 0 does not name its voters, whom its configuration names.
func (c Checkpoint) head() []batch.ControlRecord {
	head := []batch.ControlRecord{batch.SnapshotHeader{LastContainedLogTimestamp: c.LastTimestamp}}
	if c.KRaftVersion > 0 {
		head = append(head, batch.KRaftVersion{KRaftVersion: c.KRaftVersion}, batch.Voters{Voters: c.Voters})
	}
	return head
}

// checkpointWriter counts the offsets.
type checkpointWriter struct {
	c     Checkpoint
	next  model.Offset
	nowMs int64
}

func (w *checkpointWriter) builder(control bool) *batch.Builder {
	return batch.NewBuilder(batch.Options{BaseOffset: w.next, LeaderEpoch: w.c.Epoch, Control: control})
}

func (w *checkpointWriter) control(records ...batch.ControlRecord) (batch.View, error) {
	v, err := batch.NewControlBatch(batch.Options{BaseOffset: w.next, LeaderEpoch: w.c.Epoch}, w.nowMs, records...)
	w.next += model.Offset(len(records))
	return v, err
}

func (w *checkpointWriter) close(b *batch.Builder) (batch.View, error) {
	w.next += model.Offset(b.Count())
	return b.Build()
}

// CheckpointReader takes a checkpoint's batches in order.
type CheckpointReader struct {
	// Checkpoint is filled as the batches come; End and Epoch are set by the caller from the file's name.
	Checkpoint
	headed, footed bool
}

// Add reads a batch and gives each metadata record to apply. Errors: the format's, record's, and apply's own.
func (r *CheckpointReader) Add(v batch.View, apply func(record.Record) error) error {
	if r.footed {
		return fmt.Errorf("checkpoint: a batch at %d follows the footer", v.BaseOffset())
	}
	return v.Each(func(raw batch.Record) error {
		if v.Control() {
			return r.control(raw)
		}
		if !r.headed {
			return fmt.Errorf("checkpoint: record %d comes before the header", raw.Offset)
		}
		m, err := record.Decode(raw.Value)
		if err != nil {
			return fmt.Errorf("checkpoint, record %d: %w", raw.Offset, err)
		}
		return apply(m)
	})
}

// control passes over control records of kinds that came later.
func (r *CheckpointReader) control(raw batch.Record) error {
	c, err := batch.ParseControl(raw.Key, raw.Value)
	if err != nil {
		return fmt.Errorf("checkpoint, record %d: %w", raw.Offset, err)
	}
	switch c := c.(type) {
	case batch.SnapshotHeader:
		r.headed, r.LastTimestamp = true, c.LastContainedLogTimestamp
	case batch.KRaftVersion:
		r.KRaftVersion = c.KRaftVersion
	case batch.Voters:
		r.Voters = c.Voters
	case batch.SnapshotFooter:
		r.footed = true
	}
	return nil
}

// Done tells whether the checkpoint was whole. Error: ErrTruncated.
func (r *CheckpointReader) Done() error {
	if !r.footed {
		return ErrTruncated
	}
	return nil
}
