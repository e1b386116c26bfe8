package partitionlog

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/producer"
)

// trust finds the offset before which batches and index entries need no check, and the one before which they need not even
// be read.
func (ld *loader) trust() (err error) {
	if ld.kafkas, err = ld.leftOpenByKafka(); err != nil {
		return err
	}
	ld.trusted = ld.syncedBefore()
	ld.written = ld.trusted
	return ld.readPrepared()
}

// readPrepared finds the newest snapshot that was written and had still to be synced: all before it was written earlier.
// The others are of no use, and neither is any to a log that Kafka worked on since, which may have parted from them. It
// keeps its name until a recovery point has passed it.
func (ld *loader) readPrepared() error {
	slices.Sort(ld.prepared)
	for _, o := range slices.Backward(ld.prepared) {
		id := fileID{offset: o, suffix: suffixSnapshot, state: suffixPrepared}
		if o > ld.written && !ld.kafkas {
			data, err := readAll(ld.env.Files, ld.dir, id)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
			// One that was being written when the process was killed is torn.
			if entries, err := producer.DecodeSnapshot(data); err == nil {
				ld.written, ld.ahead = o, entries
				continue
			}
		}
		if err := ld.dir.remove(id); err != nil {
			return err
		}
	}
	return nil
}

// syncedBefore gives the recovery point of a log, the greatest offset for one that was closed. A producer snapshot is as good as the
// checkpointed recovery point, and newer: it is written only after everything before it was synced. That is so here,
// while Kafka writes one when it rolls and syncs later.
func (ld *loader) syncedBefore() model.Offset {
	point := ld.params.RecoveryPoint
	switch {
	case ld.params.Clean:
		return math.MaxInt64
	case len(ld.snapshots) == 0 || len(ld.bases) == 0 || ld.kafkas:
		return point
	}
	return max(point, ld.snapshots[len(ld.snapshots)-1])
}

// leftOpenByKafka knows its logs by the zeros that it keeps at the end of the active segment's indexes.
func (ld *loader) leftOpenByKafka() (bool, error) {
	if ld.params.Clean || len(ld.bases) == 0 {
		return false, nil // it makes no difference
	}
	last := ld.bases[len(ld.bases)-1]
	for _, x := range []struct {
		suffix suffix
		width  int64 // of an entry
	}{{suffixIndex, offsetEntrySize}, {suffixTimeIndex, timeEntrySize}} {
		data, err := ld.readIndex(last, x.suffix)
		if err != nil {
			return false, err
		}
		if data != nil {
			ld.present[fileID{offset: last, suffix: x.suffix}].content = data // the entries are needed next
		}
		whole := int64(len(data)) / x.width * x.width
		if whole > 0 && bytes.Equal(data[whole-x.width:whole], make([]byte, x.width)) {
			return true, nil
		}
	}
	return false, nil
}

// stays tells whether a segment stays that begins at an offset, behind a gap: when everything before it was synced once, as a
// snapshot behind it shows. The gap then comes from a cleaner, or from a leader whose log had one; else the disk took a later
// segment before the end of an earlier one. Of a log that Kafka left open nobody knows, since its snapshots prove nothing,
// and all stays, as in Kafka.
func (ld *loader) stays(next model.Offset) bool {
	n := len(ld.snapshots)
	return ld.kafkas || n > 0 && ld.snapshots[n-1] >= next
}

// sealed tells whether the segment that ends where another begins has its last index entries: what was proved behind its end
// was written after them. A snapshot right at the end proves that of batches only: it may have been made before the roll.
// Where a removal was cut short the recovery point is still that of the log that was longer, and proves nothing of its end.
func (ld *loader) sealed(next model.Offset) bool {
	if ld.removes {
		return false
	}
	_, found := slices.BinarySearch(ld.snapshots, next)
	return found && next < ld.trusted || ld.params.Clean || ld.written > ld.trusted && next < ld.written
}

// takeIndexes takes both indexes of a segment that is complete as they are, if their last entries can be right.
func (ld *loader) takeIndexes(s *segment) bool {
	x := s.index
	offsets, times := ld.sizeOf(s.base, suffixIndex), ld.sizeOf(s.base, suffixTimeIndex)
	if offsets < 0 || offsets%offsetEntrySize != 0 || times < timeEntrySize && s.size > 0 || times%timeEntrySize != 0 {
		return false
	}
	// Reading all entries of all old segments would cost what recovery points are there to save.
	x.offsets.onDisk, x.times.onDisk = int(offsets/offsetEntrySize), int(times/timeEntrySize)
	var sound bool
	if ld.tail, sound = x.lastEntries(s.size); !sound {
		x.offsets.onDisk, x.times.onDisk = 0, 0
		return false
	}
	return true
}

// lastEntries reads the last entries and tells whether they can be right. The last time entry gives the greatest timestamp,
// the last offset entry the last batch that is known without reading the log; there may be none.
func (x *segIndex) lastEntries(logSize int64) (tail mark, sound bool) {
	tail = mark{offset: x.base - 1}
	if n := x.offsets.onDisk; n > 0 {
		var e entry
		err := x.read(suffixIndex, func(f vfs.File) error {
			return readFull(f, e[:offsetEntrySize], int64(n-1)*offsetEntrySize)
		})
		if err != nil || keyOffset(e[:]) <= 0 || keyPos(e[:]) <= 0 || keyPos(e[:]) >= logSize {
			return tail, false
		}
		tail = mark{x.base + model.Offset(keyOffset(e[:])), keyPos(e[:])}
	}
	if n := x.times.onDisk; n > 0 {
		var e entry
		err := x.read(suffixTimeIndex, func(f vfs.File) error { return readFull(f, e[:], int64(n-1)*timeEntrySize) })
		if err != nil || keyTimeOffset(e[:]) < 0 || keyTime(e[:]) < 0 {
			return tail, false
		}
		x.max = timedMax{keyTime(e[:]), x.base + model.Offset(keyTimeOffset(e[:]))}
		x.lastMs = x.max.timestampMs
	}
	return tail, true
}

// trustedEntries keeps the entries of both indexes that are of batches before written and agree with the log, and gives
// the position from which to read on: that of the last one, or 0.
func (ld *loader) trustedEntries(f vfs.File, s *segment) (from int64, err error) {
	x := s.index
	if ld.noEpochs {
		return 0, nil
	}
	offsets, err := ld.readIndex(s.base, suffixIndex)
	if err != nil {
		return 0, err
	}
	times, err := ld.readIndex(s.base, suffixTimeIndex)
	if err != nil {
		return 0, err
	}
	if offsets == nil || times == nil {
		if s.size > 0 && s.base < ld.written {
			ld.report.RebuiltIndexes++
		}
		return 0, nil
	}
	// Entries from the point on are made anew with the batches that are checked: before the power failed they may have
	// been of others.
	before := int64(min(ld.written-s.base, math.MaxInt32))
	n := sound(offsets, offsetEntrySize, keyOffset, keyPos, func(e []byte) bool {
		return keyOffset(e) < before && keyPos(e) < s.size
	})
	if n > 0 {
		e := offsets[(n-1)*offsetEntrySize:]
		if !entryAgrees(f, s, keyOffset(e), keyPos(e)) {
			ld.report.RebuiltIndexes++
			return 0, nil
		}
		from = keyPos(e)
	}
	// A time entry is never of a later batch than the offset entry that it was made with, but for the one that ends a segment.
	// That one is made again too: it may be of a batch that a truncation took, which the power failed in the middle of.
	if !ld.params.Clean {
		before = 0
		if n > 0 {
			before = keyOffset(offsets[(n-1)*offsetEntrySize:]) + 1
		}
	}
	m := sound(times, timeEntrySize, keyTime, keyTimeOffset, func(t []byte) bool { return keyTimeOffset(t) < before })
	x.offsets.onDisk, x.times.onDisk = n, m
	if m > 0 {
		t := times[(m-1)*timeEntrySize:]
		x.max = timedMax{keyTime(t), s.base + model.Offset(keyTimeOffset(t))}
		x.lastMs = x.max.timestampMs
	}
	return from, nil
}

// readIndex reads an index file whole; nil when there is none.
func (ld *loader) readIndex(base model.Offset, x suffix) ([]byte, error) {
	id := fileID{offset: base, suffix: x}
	switch size := ld.sizeOf(base, x); {
	case size < 0:
		return nil, nil
	case size == 0: // most logs of little traffic: their entries are in memory until a block of them is written
		return []byte{}, nil
	case ld.present[id].content != nil:
		return ld.present[id].content, nil
	}
	data, err := readAll(ld.env.Files, ld.dir, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// entryAgrees tells whether a batch begins where an offset entry says, and ends with its offset.
func entryAgrees(f vfs.File, s *segment, relative, pos int64) bool {
	var head [batch.HeaderSize]byte
	if readFull(f, head[:], pos) != nil {
		return false
	}
	size, err := batch.Size(head[:])
	return err == nil && pos+int64(size) <= s.size && int64(batch.View(head[:]).LastOffset()-s.base) == relative
}

// trimIndexes cuts the index files to the entries that were kept: what follows is Kafka's preallocated space, or of
// batches that are gone or read anew.
func (ld *loader) trimIndexes(s *segment) error {
	trim := func(x suffix, t *table) error {
		want := int64(t.onDisk * t.width)
		if ld.sizeOf(s.base, x) <= want {
			return nil
		}
		return ld.env.Files.once(ld.dir, fileID{offset: s.base, suffix: x}, os.O_RDWR, func(f vfs.File) error {
			return f.Truncate(want)
		})
	}
	return errors.Join(trim(suffixIndex, &s.index.offsets), trim(suffixTimeIndex, &s.index.times))
}
