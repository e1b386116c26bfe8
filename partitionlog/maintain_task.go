package partitionlog

import (
	"errors"
	"os"

	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// segmentWork is what is to be written of one segment. The block and the sizes were taken by the owner; whatever is added
// meanwhile is left to the next task.
type segmentWork struct {
	segment *segment
	block   indexBlock
	sync    bool
	sealed  bool
	txnSync bool
	txnSize int64
}

// maintainTask writes, in this order: the batches, the indexes, the names in the directory, the leader epochs, the
// snapshots. A snapshot that is there shows a recovery that all before it is durable (loader.trust), and that a gap before it
// is a cleaner's and no loss (loader.stays). So there is always one whose name and content are durable: the next one is
// synced, and its name with the task after it, before the one that it replaces goes.
type maintainTask struct {
	dir       *directory
	segments  []segmentWork
	snapshots []snapshot
	epochs    checkpoint.Epochs
	epochsDue bool
	// stale are snapshots that an earlier task replaced.
	stale []fileID
	to    snapshot // zero without a recovery point
	ready int
}

func (t *maintainTask) run() error {
	for i := range t.segments {
		if err := t.segments[i].run(); err != nil {
			return err
		}
	}
	if t.ready > 0 {
		if err := t.dir.sync(); err != nil {
			return err
		}
	}
	if err := t.writeEpochs(); err != nil {
		return err
	}
	if err := t.writeSnapshots(); err != nil {
		return err
	}
	return t.removeStale()
}

func (t *maintainTask) writeEpochs() error {
	if !t.epochsDue {
		return nil
	}
	return checkpoint.WriteEpochs(t.dir.fs, t.dir.file(checkpoint.LeaderEpochs), t.epochs)
}

func (t *maintainTask) writeSnapshots() error {
	for _, s := range t.snapshots {
		if err := writeSnapshot(t.dir, s.file(), s.bytes, true); err != nil {
			return err
		}
	}
	return nil
}

func (t *maintainTask) removeStale() error {
	for _, id := range t.stale {
		if err := t.dir.remove(id); err != nil {
			return err
		}
	}
	return nil
}

func (w *segmentWork) run() error {
	if w.sync {
		if err := syncSlot(w.segment.file); err != nil {
			return err
		}
	}
	if err := w.block.write(w.sync); err != nil {
		return err
	}
	if !w.txnSync {
		return nil
	}
	id := fileID{offset: w.segment.base, suffix: suffixTxnIndex}
	return w.segment.file.cache.once(w.segment.file.dir, id, os.O_RDWR, syncFile)
}

// syncSlot takes a file that retention removed meanwhile for synced.
func syncSlot(s *slot) error {
	f, err := s.pin(useAppend)
	if errors.Is(err, ErrStale) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.unpin()
	return syncFile(f)
}

func (s snapshot) file() fileID { return fileID{offset: s.at, suffix: suffixSnapshot} }

// writeSnapshot leaves the name unsynced: see maintainTask.
func writeSnapshot(dir *directory, id fileID, content []byte, sync bool) (err error) {
	f, err := dir.open(id, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(content, 0); err == nil && sync {
		err = syncFile(f)
	}
	return errors.Join(err, f.Close())
}

func (t *maintainTask) done(l *Log, err error) {
	m := &l.maintenance
	m.underWay = false
	if err != nil {
		// Blocks and snapshots that were not marked as written are taken again.
		l.epochsDirty = l.epochsDirty || t.epochsDue
		l.failedBackground(err)
		return
	}
	for i := range t.segments {
		w := &t.segments[i]
		w.block.written()
		if w.sync {
			w.segment.saved = w.sealed
			w.segment.txnIndex.synced = max(w.segment.txnIndex.synced, w.txnSize)
		}
	}
	if t.ready == 0 {
		return
	}
	m.due = m.due[t.ready:]
	m.checkpointed(l.env.Dirty, t.to.staged)
	l.recovered, l.flushed = max(l.recovered, t.to.at), max(l.flushed, t.to.at)
	l.stale = nil
	if l.snapshot != model.NoOffset && l.snapshot < t.to.at && !l.isBase(l.snapshot) {
		l.stale = []fileID{snapshot{at: l.snapshot}.file()}
	}
	l.snapshot, l.view = t.to.at, nil
}
