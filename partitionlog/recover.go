package partitionlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// loadSegments opens the segments in order. Those before the recovery point are taken as they are; the rest is read.
//
//	segments  |-------|-------|-------|-------|--torn
//	written                 ^
//	          taken   taken   from the last index entry before it: headers, then whole batches
//
// In a log that was kept all batches are whole but the last one, which a write that was killed may have cut: headers tell
// where they are, and only what ends the file is compared with its checksum.
//
// A segment before the point may have to be read too, for an index or epochs that were lost. Damage in it is no trace of
// a crash, and what follows it was synced: nothing is cut off and nothing dropped. Who reads there gets an error.
func (ld *loader) loadSegments() error {
	for i, base := range ld.bases {
		s, err := ld.openSegment(base)
		if err != nil {
			return err
		}
		ld.segments = append(ld.segments, s)
		last := i == len(ld.bases)-1
		s.saved = !last && ld.bases[i+1] < ld.trusted // others are synced with the next recovery point
		complete := !last && ld.bases[i+1] <= ld.written
		if complete && !ld.noEpochs && ld.sealed(ld.bases[i+1]) && ld.takeIndexes(s) {
			if err := ld.checkEnd(s, ld.bases[i+1]); err != nil {
				return err
			}
			continue
		}
		whole, err := ld.readSegment(s, last, complete)
		if err != nil {
			return err
		}
		// The kernel writes files back in any order: after a power cut this segment may lack its end while the next one
		// is there, each without a damaged batch.
		if whole && !last && !ld.params.Kept && ld.end < ld.bases[i+1] && ld.bases[i+1] > ld.trusted && !ld.stays(ld.bases[i+1]) {
			ld.damage(&CorruptionError{File: s.file.id.String(), Pos: s.size, Offset: ld.end, Reason: "its end was lost"})
			whole = false
		}
		if whole && !last {
			if err := ld.checkGap(s, ld.end, ld.bases[i+1]); err != nil {
				return err
			}
		}
		if !whole && !complete {
			// It grows from here on, as the last one that is left.
			s.saved = false
			return ld.dropAfter(i)
		}
	}
	return nil
}

// openSegment makes a segment of the files that are there.
func (ld *loader) openSegment(base model.Offset) (*segment, error) {
	s := newSegment(ld.env, ld.dir, base)
	s.written = true
	info, err := ld.present[s.file.id].stat()
	if err != nil {
		return nil, err
	}
	s.size = info.Size()
	// The file's time stands for both: of its creation no file system tells reliably.
	s.roll.createdMs, s.roll.jitterMs = info.ModTime().UnixMilli(), jitter(ld.cfg, ld.tp, base)
	s.roll.modifiedMs = s.roll.createdMs
	if n := ld.sizeOf(base, suffixTxnIndex); n > 0 {
		s.txnIndex = txnAppender{size: n, written: n, synced: n}
		if ld.params.Kept {
			s.txnIndex.synced = 0
		}
		s.aborted.Store(true)
		if n%txnEntrySize != 0 {
			ld.damage(&CorruptionError{File: s.file.id.String(), Offset: base, Reason: "its transaction index was torn"})
			ld.replayFrom = min(ld.replayFrom, base)
		}
	}
	ld.total += s.size
	return s, nil
}

// listed is a file of a segment as the start finds it. With an empty page cache it is the disk that answers, so nothing is
// asked twice.
type listed struct {
	entry   fs.DirEntry
	info    fs.FileInfo // nil until somebody asked
	content []byte      // of an index that was read and will be needed again, nil for others
}

func (f *listed) stat() (info fs.FileInfo, err error) {
	if f.info == nil {
		f.info, err = f.entry.Info()
	}
	return f.info, err
}

// sizeOf is the size that a file of a segment had when it was first looked at, -1 when there is none.
func (ld *loader) sizeOf(base model.Offset, x suffix) int64 {
	f, ok := ld.present[fileID{offset: base, suffix: x}]
	if !ok {
		return -1
	}
	info, err := f.stat()
	if err != nil {
		return -1
	}
	return info.Size()
}

// readSegment walks over a segment from where its indexes can be trusted, and brings them up to date. It cuts the file off
// at the first damage, unless the segment was complete and synced, and tells whether there was none.
func (ld *loader) readSegment(s *segment, last, complete bool) (whole bool, err error) {
	ld.end = max(ld.end, s.base)
	f, err := s.file.pin(useRead)
	if err != nil {
		return false, err
	}
	defer s.file.unpin()
	from, err := ld.trustedEntries(f, s)
	if err != nil {
		return false, err
	}
	if last && from > 0 {
		// Only the active segment is asked for its age, and the walk does not come by its first batch.
		if s.roll.unread = ld.params.Kept; !s.roll.unread {
			if s.roll.firstMs, err = firstTimestamp(f); err != nil {
				return false, err
			}
		}
	}
	sc := newScanner(f, s.base, from, s.size)
	defer sc.close()
	sc.checkLast, sc.eager = ld.params.Kept, ld.params.Kept
	damage, err := ld.walk(s, sc)
	if err != nil {
		return false, err
	}
	if damage != nil {
		ld.damage(damage)
		if ld.end < ld.params.Required {
			return false, damage
		}
	}
	if damage != nil && !complete {
		// The cut is synced before anything is appended: undone by a power cut, it would bring back sound batches of a
		// history that is given up, right behind new ones.
		if err := ld.remove(); err != nil {
			return false, err
		}
		ld.report.TruncatedBytes += s.size - sc.pos
		ld.total -= s.size - sc.pos
		s.size = sc.pos
		if err := errors.Join(f.Truncate(s.size), f.Sync()); err != nil {
			return false, err
		}
	}
	if !last && (damage == nil || complete) {
		// No job would come by a sealed segment again, so its entries are written here.
		s.index.seal()
		block := s.index.block()
		if err := block.write(true); err != nil {
			return false, err
		}
		block.written()
	}
	// Not before they are written: the last entry of a sealed segment must not be missed by a start that takes them unread.
	return damage == nil, ld.trimIndexes(s)
}

// walk reads the batches of a segment; damage is what ended them early, err what kept it from reading. It does what
// stage does for a batch that is appended, but for the producers: those are replayed when the end of the log is known.
func (ld *loader) walk(s *segment, sc *scanner) (damage, err error) {
	checkFrom := ld.trusted
	if ld.params.Kept {
		checkFrom = unchecked
	}
	for {
		b, err := sc.next(checkFrom)
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case errors.Is(err, batch.ErrOldMagic) && sc.pos == 0:
			// A segment that begins so is an old one. Elsewhere the magic byte is garbage like any other.
			return nil, err
		case isCorrupt(err):
			return err, nil
		case err != nil:
			return nil, err
		}
		last := b.view.LastOffset()
		if last >= checkFrom {
			ld.report.ScannedBytes += b.size
		}
		ld.producing = ld.producing || b.view.ProducerID() != model.NoProducerID
		timestamp := b.view.MaxTimestamp()
		if b.pos == 0 {
			s.roll.firstMs = timestamp
		}
		// The same rule as in Log.stage: entries are where an append would have made them.
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

// measureUnsynced counts the bytes that a recovery point has to come by.
func (ld *loader) measureUnsynced() error {
	if ld.end <= ld.trusted {
		return nil
	}
	for i := max(0, segmentAt(ld.segments, ld.trusted)); i < len(ld.segments); i++ {
		s := ld.segments[i]
		pos, err := s.index.floorOffset(max(ld.trusted, s.base))
		if err != nil {
			return err
		}
		ld.unsynced += s.size - pos
	}
	return nil
}

// firstTimestamp reads what the age of a segment counts from.
func firstTimestamp(f vfs.File) (int64, error) {
	var head [batch.HeaderSize]byte
	if err := readFull(f, head[:], 0); err != nil {
		return noTime, fmt.Errorf("read the first batch of %s: %w", f.Name(), err)
	}
	return batch.View(head[:]).MaxTimestamp(), nil
}
