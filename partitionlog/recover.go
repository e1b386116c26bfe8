package partitionlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// loadSegments opens the segments in order. Those before the recovery point are taken as they are; the rest is read.
func (ld *loader) loadSegments() error {
	trusted := ld.trusted
	for i, base := range ld.bases {
		s, err := ld.openSegment(base)
		if err != nil {
			return err
		}
		ld.segments = append(ld.segments, s)
		last := i == len(ld.bases)-1
		s.saved = !last
		if !last && ld.bases[i+1] <= trusted && !ld.noEpochs && ld.takeIndexes(s) {
			continue
		}
		whole, err := ld.readSegment(s, trusted, last)
		if err != nil {
			return err
		}
		if whole && !last && ld.end < ld.bases[i+1] && ld.bases[i+1] > trusted && !ld.synced(ld.bases[i+1]) {
			ld.damage(&CorruptionError{File: s.file.id.String(), Pos: s.size, Offset: ld.end, Reason: "its end was lost"})
			whole = false
		}
		if !whole {
			s.saved = false
			return ld.dropAfter(i)
		}
	}
	return nil
}

// trust finds the offset before which batches and index entries need no check. A producer snapshot is as good as the
// checkpointed recovery point, and newer: it is written only after everything before it was synced. That is so here,
// while Kafka writes one when it rolls and syncs later; a log that Kafka left open is known by the zeros that it
// keeps at the end of the active segment's indexes.
func (ld *loader) trust() error {
	ld.trusted = ld.params.RecoveryPoint
	switch {
	case ld.params.Clean:
		ld.trusted = math.MaxInt64
		return nil
	case len(ld.snapshots) == 0 || len(ld.bases) == 0:
		return nil
	}
	last := ld.bases[len(ld.bases)-1]
	for x, width := range map[suffix]int64{suffixIndex: offsetEntrySize, suffixTimeIndex: timeEntrySize} {
		size := ld.sizeOf(last, x)
		if size < width {
			continue
		}
		var e entry
		err := ld.env.Files.once(ld.dir, fileID{offset: last, suffix: x}, os.O_RDONLY, func(f vfs.File) error {
			return readFull(f, e[:width], size/width*width-width)
		})
		if err != nil {
			return err
		}
		if e == (entry{}) {
			return nil
		}
	}
	ld.trusted = max(ld.trusted, ld.snapshots[len(ld.snapshots)-1])
	return nil
}

// synced tells whether everything before an offset was synced once, as a snapshot behind it shows. A gap before the
// offset then comes from a cleaner, or from a leader whose log had one; else the disk took a later segment before the
// end of an earlier one.
func (ld *loader) synced(before model.Offset) bool {
	n := len(ld.snapshots)
	return n > 0 && ld.snapshots[n-1] >= before
}

// openSegment makes a segment of the files that are there.
func (ld *loader) openSegment(base model.Offset) (*segment, error) {
	s := newSegment(ld.env, ld.dir, base)
	s.written = true
	info, err := ld.present[s.file.id].Info()
	if err != nil {
		return nil, err
	}
	s.size = info.Size()
	s.roll.createdMs, s.roll.jitterMs = info.ModTime().UnixMilli(), jitter(ld.cfg, ld.tp, base)
	s.roll.modifiedMs = s.roll.createdMs
	if n := ld.sizeOf(base, suffixTxnIndex); n > 0 {
		s.txnIndex = txnAppender{size: n, synced: n}
		s.aborted.Store(true)
		if n%txnEntrySize != 0 {
			ld.damage(&CorruptionError{File: s.file.id.String(), Offset: base, Reason: "its transaction index was torn"})
			ld.replayFrom = min(ld.replayFrom, base)
		}
	}
	ld.total += s.size
	return s, nil
}

// sizeOf is the size of a file of a segment, -1 when there is none.
func (ld *loader) sizeOf(base model.Offset, x suffix) int64 {
	e, ok := ld.present[fileID{offset: base, suffix: x}]
	if !ok {
		return -1
	}
	info, err := e.Info()
	if err != nil {
		return -1
	}
	return info.Size()
}

// takeIndexes takes both indexes of a segment that is complete as they are, if their last entries can be right.
func (ld *loader) takeIndexes(s *segment) bool {
	x := s.index
	offsets, times := ld.sizeOf(s.base, suffixIndex), ld.sizeOf(s.base, suffixTimeIndex)
	if offsets < 0 || offsets%offsetEntrySize != 0 || times < timeEntrySize && s.size > 0 || times%timeEntrySize != 0 {
		return false
	}
	x.offsets.onDisk, x.times.onDisk = int(offsets/offsetEntrySize), int(times/timeEntrySize)
	if !x.lastEntriesSound(s.size) {
		x.offsets.onDisk, x.times.onDisk = 0, 0
		return false
	}
	return true
}

// lastEntriesSound reads the last entries; the last time entry gives the greatest timestamp.
func (x *segIndex) lastEntriesSound(logSize int64) bool {
	if n := x.offsets.onDisk; n > 0 {
		var e entry
		err := x.read(suffixIndex, func(f vfs.File) error {
			return readFull(f, e[:offsetEntrySize], int64(n-1)*offsetEntrySize)
		})
		if err != nil || keyOffset(e[:]) <= 0 || keyPos(e[:]) <= 0 || keyPos(e[:]) >= logSize {
			return false
		}
	}
	if n := x.times.onDisk; n > 0 {
		var e entry
		err := x.read(suffixTimeIndex, func(f vfs.File) error { return readFull(f, e[:], int64(n-1)*timeEntrySize) })
		if err != nil || keyTimeOffset(e[:]) < 0 || keyTime(e[:]) < 0 {
			return false
		}
		x.max = timedMax{keyTime(e[:]), x.base + model.Offset(keyTimeOffset(e[:]))}
		x.lastMs = x.max.timestampMs
	}
	return true
}

// readSegment walks over a segment from where its indexes can be trusted, and brings them up to date. Batches from
// trusted on are checked whole. It cuts the file off at the first damage and tells whether there was none.
func (ld *loader) readSegment(s *segment, trusted model.Offset, last bool) (whole bool, err error) {
	ld.end = max(ld.end, s.base)
	f, err := s.file.pin(useRead)
	if err != nil {
		return false, err
	}
	defer s.file.unpin()
	from, err := ld.trustedEntries(f, s, trusted)
	if err != nil {
		return false, err
	}
	if last && from > 0 {
		if err := s.readFirst(f); err != nil {
			return false, err
		}
	}
	sc := newScanner(f, s.base, from, s.size)
	defer sc.close()
	damage, err := ld.walk(s, sc, trusted)
	if err != nil {
		return false, err
	}
	if damage != nil {
		ld.damage(damage)
		ld.report.TruncatedBytes += s.size - sc.pos
		ld.total -= s.size - sc.pos
		s.size = sc.pos
		if err := errors.Join(f.Truncate(s.size), f.Sync()); err != nil {
			return false, err
		}
	}
	if err := ld.trimIndexes(s); err != nil {
		return false, err
	}
	if !last && damage == nil {
		s.index.seal()
		block := s.index.block()
		if err := block.write(true); err != nil {
			return false, err
		}
		block.written()
	}
	return damage == nil, nil
}

// walk reads the batches of a segment; damage is what ended them early.
func (ld *loader) walk(s *segment, sc *scanner, trusted model.Offset) (damage, err error) {
	for {
		b, err := sc.next(trusted)
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case errors.Is(err, batch.ErrOldMagic) && sc.pos == 0:
			return nil, err
		case isCorrupt(err):
			return err, nil
		case err != nil:
			return nil, err
		}
		last := b.view.LastOffset()
		if last >= trusted {
			ld.report.ScannedBytes += b.size
			ld.unsynced += b.size
		}
		timestamp := b.view.MaxTimestamp()
		if b.pos == 0 {
			s.roll.firstMs = timestamp
		}
		entry := s.roll.sinceEntry > ld.cfg.IndexIntervalBytes
		if entry {
			s.roll.sinceEntry = 0
		}
		s.index.note(last, b.pos, timestamp, entry)
		s.roll.sinceEntry += b.size
		if latest, _ := ld.epochs.Latest(); b.view.LeaderEpoch() > latest.Epoch {
			ld.epochs, ld.epochsDirty = ld.epochs.Assign(b.view.LeaderEpoch(), b.view.BaseOffset())
		}
		ld.end = last + 1
	}
}

// trustedEntries keeps the entries of both indexes that are of batches before the recovery point and agree with the log,
// and gives the position from which to read on: that of the last one, or 0.
func (ld *loader) trustedEntries(f vfs.File, s *segment, trusted model.Offset) (from int64, err error) {
	x := s.index
	if ld.noEpochs {
		return 0, nil
	}
	offsets, err := ld.readIndex(s, suffixIndex)
	if err != nil {
		return 0, err
	}
	times, err := ld.readIndex(s, suffixTimeIndex)
	if err != nil {
		return 0, err
	}
	if offsets == nil || times == nil {
		if s.size > 0 && s.base < trusted {
			ld.report.RebuiltIndexes++
		}
		return 0, nil
	}
	before := int64(min(trusted-s.base, math.MaxInt32))
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
func (ld *loader) readIndex(s *segment, x suffix) ([]byte, error) {
	if ld.sizeOf(s.base, x) < 0 {
		return nil, nil
	}
	data, err := readAll(ld.env.Files, ld.dir, fileID{offset: s.base, suffix: x})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if data == nil && err == nil {
		data = []byte{}
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

// readFirst notes the timestamp that the age of the segment counts from.
func (s *segment) readFirst(f vfs.File) error {
	var head [batch.HeaderSize]byte
	if err := readFull(f, head[:], 0); err != nil {
		return fmt.Errorf("read the first batch of %s: %w", f.Name(), err)
	}
	s.roll.firstMs = batch.View(head[:]).MaxTimestamp()
	return nil
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

// dropAfter removes the segments behind one that was damaged: what they hold does not follow what is left. The latest
// goes first, so that a crash in between leaves the damage to be found again.
func (ld *loader) dropAfter(i int) error {
	ld.report.DeletedSegments += len(ld.bases) - i - 1
	return ld.removeSegments(ld.bases[i+1:])
}

// restart removes everything and begins an empty segment at the log start.
func (ld *loader) restart() error {
	ld.abandon()
	ld.report.DeletedSegments += len(ld.segments)
	ld.segments, ld.total = nil, 0
	if err := ld.removeSegments(ld.bases); err != nil {
		return err
	}
	base := ld.params.LogStart
	s := newSegment(ld.env, ld.dir, base)
	s.written = true
	ld.bases, ld.segments, ld.end = []model.Offset{base}, []*segment{s}, base
	return errors.Join(emptySegment(ld.dir, base), ld.env.FS.SyncDir(ld.dir.path))
}

func (ld *loader) removeSegments(bases []model.Offset) error {
	for i := len(bases) - 1; i >= 0; i-- {
		for _, x := range []suffix{suffixTxnIndex, suffixTimeIndex, suffixIndex, suffixLog} {
			if err := ld.dir.remove(fileID{offset: bases[i], suffix: x}); err != nil {
				return err
			}
		}
	}
	if len(bases) == 0 {
		return nil
	}
	return ld.env.FS.SyncDir(ld.dir.path)
}
