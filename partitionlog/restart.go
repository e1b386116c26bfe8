package partitionlog

import (
	"errors"

	"troupe/internal/model"
)

// dropAfter removes the segments behind one that was damaged: what they hold does not follow what is left. The latest
// goes first, so that a crash in between leaves the damage to be found again.
func (ld *loader) dropAfter(i int) error {
	ld.report.DeletedSegments += len(ld.bases) - i - 1
	return ld.removeSegments(ld.bases[i+1:])
}

// restart removes everything and begins an empty segment at the log start, as Kafka does. The file keeps the start, should
// the checkpoint be lost too.
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

// removeSegments takes the latest first and of each the log file last: what a crash leaves is a log that ends earlier, or a
// segment whose indexes are made anew.
func (ld *loader) removeSegments(bases []model.Offset) error {
	if len(bases) == 0 {
		return nil
	}
	if err := ld.remove(); err != nil {
		return err
	}
	for i := len(bases) - 1; i >= 0; i-- {
		for _, x := range []suffix{suffixTxnIndex, suffixTimeIndex, suffixIndex, suffixLog} {
			if err := ld.dir.remove(fileID{offset: bases[i], suffix: x}); err != nil {
				return err
			}
		}
	}
	return ld.env.FS.SyncDir(ld.dir.path)
}

// remove comes before the loader takes batches away, settleRemoval when it has done so.
func (ld *loader) remove() error {
	ld.removes = true
	return ld.dir.beginRemoval()
}

// settleRemoval syncs the end that is left before the mark goes: from then on nobody looks for a removal.
func (ld *loader) settleRemoval() error {
	if !ld.removes {
		return nil
	}
	if n := len(ld.segments); n > 0 {
		if err := syncSlot(ld.segments[n-1].file); err != nil {
			return err
		}
	}
	return ld.dir.endRemoval()
}
