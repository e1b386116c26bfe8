package partitionlog

import (
	"errors"
	"os"
	"syscall"

	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// maintenance moves the recovery point and writes index entries in the background. One job is under way at a time.
//
// Bytes are counted over the life of the Log: what is dirty has been written and is behind the recovery point.
type maintenance struct {
	underWay bool
	due      []snapshot // rising by offset
	staged   int64
	appended int64
	synced   int64
	sinceMs  int64 // when dirty bytes were first seen, 0 for none
}

// snapshot is the producer state as of an offset, on its way to its file, and the place of a recovery point.
type snapshot struct {
	at     model.Offset
	bytes  []byte
	staged int64 // bytes before it
}

func (m *maintenance) dirty() int64 { return m.appended - m.synced }

func (m *maintenance) written(b *DirtyBudget, bytes int64) {
	before := m.dirty()
	m.appended += bytes
	b.move(before, m.dirty())
}

func (m *maintenance) checkpointed(b *DirtyBudget, staged int64) {
	before := m.dirty()
	m.synced = max(m.synced, staged)
	b.move(before, m.dirty())
	m.sinceMs = 0
}

func (m *maintenance) forget(b *DirtyBudget) { m.checkpointed(b, m.appended) }

// Background gives the work that keeps a restart short and memory small: the directory of a new log, the recovery
// point after a roll or when much is unsynced, index entries, the removal of deleted files. It is cheap to ask often,
// after each batch of Done and now and then when nothing is appended.
func (l *Log) Background(nowMs int64) []*Job {
	if l.failed != nil || l.exclusive || l.backingOff(nowMs) {
		return nil
	}
	var jobs []*Job
	if j := l.Create(); j != nil {
		jobs = append(jobs, j)
	}
	if j := l.maintain(nowMs); j != nil {
		jobs = append(jobs, j)
	}
	if j := l.remove(nowMs); j != nil {
		jobs = append(jobs, j)
	}
	return jobs
}

func (l *Log) maintain(nowMs int64) *Job {
	m := &l.maintenance
	if m.underWay || l.retaining || len(l.segments) == 0 {
		return nil
	}
	l.checkpointIfDirty(nowMs)
	t, kind := l.maintainTask()
	if t == nil {
		return nil
	}
	l.epochsDirty = false
	m.underWay = true
	return &Job{Kind: kind, task: t}
}

// maintainTask collects what is to be written now; nil for nothing.
func (l *Log) maintainTask() (*maintainTask, Kind) {
	m := &l.maintenance
	ready := 0
	for ready < len(m.due) && m.due[ready].at <= l.end {
		ready++
	}
	last := l.segments[len(l.segments)-1]
	t := &maintainTask{dir: l.dir, epochs: l.epochs, epochsDue: l.epochsDirty, staleSnapshot: model.NoOffset}
	kind := KindBulk
	switch {
	case ready > 0:
		t.to = m.due[ready-1]
		t.ready = ready
		t.snapshots = l.snapshotsDue(m.due[:ready])
		t.segments = l.toSync(t.to.at)
		if l.snapshot < t.to.at && !l.isBase(l.snapshot) {
			t.staleSnapshot = l.snapshot
		}
		kind = KindFsync
	case last.written && last.index.unwritten() >= l.env.Index.block():
		t.segments = []segmentWork{{segment: last, block: last.index.block()}}
	case !l.epochsDirty || l.creation != creationDone:
		return nil, kind
	}
	return t, kind
}

// checkpointIfDirty asks for a recovery point when this log's part of the dirty bytes is used up, or it is old.
func (l *Log) checkpointIfDirty(nowMs int64) {
	m := &l.maintenance
	dirty := m.dirty()
	if dirty < quietShare || len(m.due) > 0 {
		return
	}
	if m.sinceMs == 0 {
		m.sinceMs = nowMs
	}
	if dirty >= l.env.Dirty.share() || nowMs-m.sinceMs >= quietMs {
		l.checkpointAt(l.next)
	}
}

// snapshotsDue leaves out those that would be replaced at once: neither a segment's nor the last.
func (l *Log) snapshotsDue(due []snapshot) []snapshot {
	var out []snapshot
	for i, s := range due {
		if i == len(due)-1 || l.isBase(s.at) {
			out = append(out, s)
		}
	}
	return out
}

// toSync lists the segments with batches between the recovery point and an offset, and sealed ones whose indexes are
// not complete in their files: the recovery point may have been at their end before they were sealed.
func (l *Log) toSync(to model.Offset) []segmentWork {
	first := max(0, segmentAt(l.segments, l.recovered))
	for first > 0 && !l.segments[first-1].saved {
		first--
	}
	var work []segmentWork
	for i := first; i < l.visible && l.segments[i].base < to; i++ {
		s := l.segments[i]
		work = append(work, segmentWork{
			segment: s, sync: true, sealed: i < len(l.segments)-1, block: s.index.block(), txnSize: s.txnIndex.size,
			txnSync: s.txnIndex.size > s.txnIndex.synced,
		})
	}
	return work
}

// segmentWork is what is to be written of one segment.
type segmentWork struct {
	segment *segment
	block   indexBlock
	sync    bool
	sealed  bool
	txnSync bool
	txnSize int64
}

// maintainTask writes, in this order: the batches, the indexes, the names in the directory, the leader epochs, the
// snapshots. A snapshot that is there shows a recovery that all before it is durable (loader.trust). It is not synced
// itself: it carries a checksum, and without it a recovery goes back to an older one.
type maintainTask struct {
	dir       *directory
	segments  []segmentWork
	snapshots []snapshot
	epochs    checkpoint.Epochs
	epochsDue bool
	// staleSnapshot is the one that the new ones replace.
	staleSnapshot model.Offset
	to            snapshot // zero without a recovery point
	ready         int
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
	if t.epochsDue {
		if err := checkpoint.WriteEpochs(t.dir.fs, t.dir.file(checkpoint.LeaderEpochs), t.epochs); err != nil {
			return err
		}
	}
	for _, s := range t.snapshots {
		if err := writeSnapshot(t.dir, s); err != nil {
			return err
		}
	}
	if t.staleSnapshot != model.NoOffset {
		return t.dir.remove(fileID{offset: t.staleSnapshot, suffix: suffixSnapshot})
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

func writeSnapshot(dir *directory, s snapshot) (err error) {
	f, err := dir.open(fileID{offset: s.at, suffix: suffixSnapshot}, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(s.bytes, 0)
	return errors.Join(err, f.Close())
}

func (t *maintainTask) done(l *Log, err error) {
	m := &l.maintenance
	m.underWay = false
	if err != nil {
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
	l.snapshot = t.to.at
}

// failedBackground: what was to be written is still in memory, so a full disk does not end the log: a later job tries
// again. After a failed sync, and any other error, it is unknown what the disk has.
func (l *Log) failedBackground(err error) {
	if errors.As(err, new(syncError)) || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, vfs.ErrNoDescriptor) {
		l.poison(err)
		return
	}
	l.backOff = true
}

// retryMs is how long a full disk is left alone.
const retryMs = 1000

func (l *Log) backingOff(nowMs int64) bool {
	if l.backOff {
		l.backOff, l.resumeMs = false, nowMs+retryMs
	}
	// A clock that went back does not prolong it.
	return nowMs < l.resumeMs && l.resumeMs-nowMs <= retryMs
}

// syncError is what a sync said. The kernel reports a lost write once and then forgets it, so it is never tried again,
// whatever the reason: a delayed allocation may find the disk full only here.
type syncError struct{ err error }

func (e syncError) Error() string { return e.err.Error() }

func (e syncError) Unwrap() error { return e.err }

func syncFile(f vfs.File) error {
	if err := f.Sync(); err != nil {
		return syncError{err}
	}
	return nil
}

// Flush gives the job that makes durable what is written so far, nil when nothing is to be done. It moves Flushed, not
// the recovery point, and touches no index: group commit for flush.messages and flush.ms.
func (l *Log) Flush() *Job {
	if l.flushed >= l.end || l.usable() != nil {
		return nil
	}
	t := &flushTask{dir: l.dir, to: l.end}
	for i := max(0, segmentAt(l.segments, l.flushed)); i < l.visible; i++ {
		t.files = append(t.files, l.segments[i].file)
	}
	l.flushing++
	return &Job{Kind: KindFsync, task: t}
}

type flushTask struct {
	dir   *directory
	files []*slot
	to    model.Offset
}

func (t *flushTask) run() error {
	for _, f := range t.files {
		if err := syncSlot(f); err != nil {
			return err
		}
	}
	return t.dir.sync()
}

func (t *flushTask) done(l *Log, err error) {
	l.flushing--
	if err != nil {
		l.poison(err)
		return
	}
	l.flushed = max(l.flushed, t.to)
}
