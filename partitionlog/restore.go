package partitionlog

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/producer"
)

// restoreProducers takes the newest sound snapshot that the log still reaches, gives the windows back what came before
// it, and replays what followed. Where a transaction index is damaged it goes further back, to mend it by the way.
func (ld *loader) restoreProducers() error {
	from := model.Offset(0)
	// A snapshot from behind the end must not come back: it would vouch for batches that are yet to be written.
	if n := len(ld.snapshots); n > 0 && ld.snapshots[n-1] > ld.end {
		if err := ld.remove(); err != nil {
			return err
		}
	}
	ld.snapshot, ld.stale = model.NoOffset, nil
	ahead, err := ld.restorePrepared()
	if err != nil {
		return err
	}
	restored := ahead
	if ahead {
		from = ld.written
	}
	for i := len(ld.snapshots) - 1; i >= 0; i-- {
		o := ld.snapshots[i]
		if ahead && ld.unread(i) {
			continue
		}
		var sound bool
		if o <= ld.end && (!restored || ld.snapshot == model.NoOffset) {
			entries, ok, err := ld.readSnapshot(o)
			if err != nil {
				return err
			}
			if sound = ok; sound && !restored && o <= ld.replayFrom {
				ld.producers.Restore(entries)
				from, restored = o, true
			}
		}
		// The newest vouches for what is before it. Of the others only those of segments are of use to a later truncation.
		keep := sound && ld.snapshot == model.NoOffset || (sound || restored) && o <= ld.end && (ld.isBase(o) || o == from)
		if keep {
			ld.snapshot = max(ld.snapshot, o)
			continue
		}
		if err := ld.dir.remove(fileID{offset: o, suffix: suffixSnapshot}); err != nil {
			return err
		}
	}
	// Older batches first: they fit into a window only in front of what is there.
	if err := ld.refill(from); err != nil {
		return err
	}
	if err := ld.replay(from); err != nil {
		return err
	}
	ld.producers.HighWatermark(ld.hw)
	return nil
}

// unread keeps the newest snapshot without a look at it, and the one before it in its place should it turn out to be torn:
// they are not needed before the next is written. It is for a log whose state came from a prepared one, which is stale too.
func (ld *loader) unread(i int) bool {
	o := ld.snapshots[i]
	switch {
	case o > ld.end:
		return false
	case ld.snapshot == model.NoOffset:
		ld.snapshot = o
	case len(ld.stale) > 1:
		return false
	case !ld.isBase(o):
		ld.stale = append(ld.stale, snapshot{at: o}.file())
	}
	return true
}

// restorePrepared takes the snapshot that reading began at, where there is one and the log has come by it.
func (ld *loader) restorePrepared() (restored bool, err error) {
	if ld.written <= ld.trusted {
		return false, nil
	}
	id := snapshot{at: ld.written}.unproved()
	if ld.written > ld.end { // what it promised is not there
		return false, ld.dir.remove(id)
	}
	ld.stale = []fileID{id}
	if ld.written > ld.replayFrom {
		return false, nil
	}
	ld.producers.Restore(ld.ahead)
	return true, nil
}

// readSnapshot reads a snapshot. One that is empty or torn is no error: a power cut may leave it so.
func (ld *loader) readSnapshot(o model.Offset) (entries []producer.Entry, sound bool, err error) {
	data, err := readAll(ld.env.Files, ld.dir, fileID{offset: o, suffix: suffixSnapshot})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, err
	}
	entries, err = producer.DecodeSnapshot(data)
	return entries, err == nil, nil
}

// replay takes the batches from an offset on into the producer state, and mends the transaction indexes: entries of
// markers before the offset are in the files, the others come from the markers. Batches that were read already, and found
// to be of no producer, are not read again.
func (ld *loader) replay(from model.Offset) error {
	for i := max(0, segmentAt(ld.segments, from)); i < len(ld.segments); i++ {
		s := ld.segments[i]
		kept, err := ld.keptTxnEntries(s, from)
		if err != nil {
			return err
		}
		entries := kept
		if from >= ld.written && !ld.producing {
			if err := ld.setTxnIndex(s, entries, len(kept)); err != nil {
				return err
			}
			continue
		}
		// A batch that holds the offset is replayed whole; the snapshot cannot have it, since it stands between batches.
		start, err := s.index.floorOffset(max(from, s.base))
		if err != nil {
			return err
		}
		err = ld.headers(s, start, s.size, func(sc *scanner, b found) error {
			if b.view.LastOffset() < from {
				return nil
			}
			entries, err = ld.replayBatch(sc, b, entries)
			return err
		})
		if err != nil {
			return err
		}
		if err := ld.setTxnIndex(s, entries, len(kept)); err != nil {
			return err
		}
	}
	return nil
}

// replayBatch adds the entry of the transaction index that a batch makes.
func (ld *loader) replayBatch(sc *scanner, b found, entries []byte) ([]byte, error) {
	v := b.view
	// A header tells all about a batch of data; what a marker decides stands in its record.
	if v.Control() && v.ProducerID() >= 0 {
		var err error
		if v, err = sc.whole(b); err != nil {
			return nil, err
		}
	}
	ended, aborted, err := replay(&ld.producers, v)
	if aborted {
		entries = appendTxnEntry(entries, ended)
	}
	return entries, err
}

// keptTxnEntries gives the entries of a segment's transaction index for markers before an offset.
func (ld *loader) keptTxnEntries(s *segment, before model.Offset) (kept []byte, err error) {
	if s.txnIndex.size == 0 {
		return nil, nil
	}
	entries, err := readTxnIndex(s)
	if err != nil && !isCorrupt(err) {
		return nil, err
	}
	for _, e := range entries {
		if e.LastOffset < before {
			kept = appendTxnEntry(kept, e)
		}
	}
	return kept, nil
}

// setTxnIndex writes the entries that are not in the file, and cuts off what should not be.
func (ld *loader) setTxnIndex(s *segment, entries []byte, kept int) error {
	s.aborted.Store(len(entries) > 0)
	if int64(len(entries)) == s.txnIndex.size && len(entries) == kept {
		return nil
	}
	// Written whole and synced: the next recovery keeps the entries before its snapshot unseen.
	s.txnIndex = txnAppender{size: int64(len(entries)), written: int64(len(entries))}
	id := fileID{offset: s.base, suffix: suffixTxnIndex}
	if len(entries) == 0 {
		return ld.dir.remove(id)
	}
	return ld.env.Files.once(ld.dir, id, os.O_RDWR|os.O_CREATE, func(f vfs.File) error {
		if _, err := f.WriteAt(entries, 0); err != nil {
			return err
		}
		return errors.Join(f.Truncate(int64(len(entries))), f.Sync())
	})
}
