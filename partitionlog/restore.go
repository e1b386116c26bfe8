package partitionlog

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
	"troupe/partitionlog/producer"
)

// readEpochs reads the leader epochs; when the file is lost they are gathered from all batches.
func (ld *loader) readEpochs() (err error) {
	if ld.epochsDirty {
		return nil // given by the log that is truncated
	}
	name := ld.dir.file(checkpoint.LeaderEpochs)
	ld.epochs, err = checkpoint.ReadEpochs(ld.env.FS, name)
	if errors.As(err, new(*checkpoint.FormatError)) {
		ld.damage(err)
		err = nil
	}
	_, known := ld.epochs.Latest()
	ld.noEpochs = !known && len(ld.bases) > 0
	if !ld.params.Clean {
		// The batches behind the recovery point tell their epochs; the file may be ahead of them, or of a history that
		// an earlier crash took back.
		ld.epochs, ld.epochsDirty = ld.epochs.TruncateEnd(ld.trusted)
	}
	return err
}

// endOf walks over a file that is no segment yet to the offset after its last batch.
func (ld *loader) endOf(name string, base model.Offset) (model.Offset, error) {
	end := base
	f, err := ld.env.FS.Open(ld.dir.file(name), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	if err == nil {
		s := newScanner(f, base, 0, size)
		defer s.close()
		for err == nil {
			var b found
			if b, err = s.next(unchecked); err == nil {
				end = b.view.NextOffset()
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return end, errors.Join(err, f.Close())
}

// place derives the offsets of the log from its segments and the checkpoints.
func (ld *loader) place() {
	start := max(ld.params.LogStart, 0)
	first := start // of the files: a raised log start may not be checkpointed yet, and come back lower
	if len(ld.segments) == 0 {
		ld.end, ld.unsynced = start, 0
	} else {
		first = ld.segments[0].base
		start = max(start, first)
		ld.size = ld.segments[len(ld.segments)-1].size
	}
	ld.start, ld.next, ld.visible = start, ld.end, len(ld.segments)
	ld.hw = min(max(ld.params.HighWatermark, start), ld.end)
	ld.recovered = min(max(ld.trusted, first), ld.end)
	if ld.params.Clean && ld.report.Reason != nil {
		ld.recovered = min(max(ld.params.RecoveryPoint, first), ld.end)
	}
	ld.flushed = ld.recovered
	for _, cut := range []func(checkpoint.Epochs) (checkpoint.Epochs, bool){
		func(e checkpoint.Epochs) (checkpoint.Epochs, bool) { return e.TruncateEnd(ld.end) },
		func(e checkpoint.Epochs) (checkpoint.Epochs, bool) { return e.TruncateStart(start) },
	} {
		if next, changed := cut(ld.epochs); changed {
			ld.epochs, ld.epochsDirty = next, true
		}
	}
}

// restoreProducers takes the newest sound snapshot that the log still reaches, gives the windows back what came before
// it, and replays what followed.
func (ld *loader) restoreProducers() error {
	from := model.Offset(0)
	ld.snapshot = model.NoOffset
	for i := len(ld.snapshots) - 1; i >= 0; i-- {
		o := ld.snapshots[i]
		id := fileID{offset: o, suffix: suffixSnapshot}
		sound := false
		if o <= min(ld.end, ld.replayFrom) && ld.snapshot == model.NoOffset {
			data, err := readAll(ld.env.Files, ld.dir, id)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
			entries, err := producer.DecodeSnapshot(data)
			if sound = err == nil; sound {
				ld.producers.Restore(entries)
				ld.snapshot, from = o, o
			}
		}
		// Of the snapshots before the one taken, only those of segments are of use to a later truncation.
		keep := sound || ld.snapshot != model.NoOffset && o <= ld.end && ld.isBase(o)
		if !keep {
			if err := ld.dir.remove(id); err != nil {
				return err
			}
			ld.dir.named()
		}
	}
	if err := ld.refill(from); err != nil {
		return err
	}
	if err := ld.replay(from); err != nil {
		return err
	}
	ld.producers.HighWatermark(ld.hw)
	return ld.dir.sync()
}

// replay takes the batches from an offset on into the producer state, and mends the transaction indexes: entries of
// markers before the offset are in the files, the others come from the markers.
func (ld *loader) replay(from model.Offset) error {
	for i := max(0, segmentAt(ld.segments, from)); i < len(ld.segments); i++ {
		s := ld.segments[i]
		kept, err := ld.keptTxnEntries(s, from)
		if err != nil {
			return err
		}
		entries := kept
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
	s.txnIndex = txnAppender{size: int64(len(entries))}
	id := fileID{offset: s.base, suffix: suffixTxnIndex}
	if len(entries) == 0 {
		return ld.dir.remove(id)
	}
	ld.dir.named()
	return ld.env.Files.once(ld.dir, id, os.O_RDWR|os.O_CREATE, func(f vfs.File) error {
		if _, err := f.WriteAt(entries, 0); err != nil {
			return err
		}
		return errors.Join(f.Truncate(int64(len(entries))), f.Sync())
	})
}

// headers walks over the batches of a segment that begin in a stretch of its file; a batch begins at its start.
func (ld *loader) headers(s *segment, start, end int64, visit func(*scanner, found) error) error {
	if start >= end {
		return nil
	}
	f, err := s.file.pin(useRead)
	if err != nil {
		return err
	}
	defer s.file.unpin()
	sc := newScanner(f, s.base, start, end)
	defer sc.close()
	for {
		b, err := sc.next(unchecked)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(sc, b)
		}
		if err != nil {
			return err
		}
	}
}

// What refill reads at most: a producer has no more than five batches in flight, which lie close to the end, while
// others may have been silent for long.
const (
	refillHeaders = 1000
	refillBytes   = 32 << 20
	refillWindow  = 64 << 10
)

// refill looks at the batches before the snapshot, the latest first, for those that a client may still repeat.
func (ld *loader) refill(before model.Offset) error {
	headers, bytes := refillHeaders, int64(refillBytes)
	for i := segmentAt(ld.segments, before-1); i >= 0; i-- {
		s := ld.segments[i]
		end, err := ld.positionOf(s, before)
		if err != nil {
			return err
		}
		for window := int64(refillWindow); end > 0; window *= 4 {
			if ld.producers.WindowsComplete() || headers <= 0 || bytes <= 0 {
				return nil
			}
			start, err := s.index.floorPos(max(0, end-window))
			if err != nil {
				return err
			}
			err = ld.headers(s, start, end, func(_ *scanner, b found) error {
				if b.view.LastOffset() >= before {
					return nil
				}
				headers--
				p, err := parseProducer(b.view)
				if err == nil && p.kind == producesData {
					ld.producers.Refill(p.batch)
				}
				return nil
			})
			if err != nil {
				return err
			}
			bytes -= end - start
			end = start
		}
	}
	return nil
}

// positionOf is where the first batch of a segment begins that ends at or after an offset; its size when none does.
func (ld *loader) positionOf(s *segment, o model.Offset) (pos int64, err error) {
	start, err := s.index.floorOffset(o)
	if err != nil {
		return 0, err
	}
	pos = s.size
	err = ld.headers(s, start, s.size, func(_ *scanner, b found) error {
		if b.view.LastOffset() < o {
			return nil
		}
		pos = b.pos
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return pos, err
}
