package partitionlog

import "troupe/internal/model"

// maintenance moves the recovery point and writes index entries in the background. One job is under way at a time.
//
// Bytes are counted over the life of the Log: what is dirty has been written and is behind the recovery point.
//
// Invariants: synced <= appended <= staged; due rises by offset, and each is at most the staged end when it is added.
type maintenance struct {
	underWay bool
	due      []snapshot
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
	if l.retentionDue {
		if j := l.Retention(nowMs); j != nil {
			jobs = append(jobs, j)
		}
	}
	for _, j := range []*Job{l.maintain(nowMs), l.learnAge()} {
		if j != nil {
			jobs = append(jobs, j)
		}
	}
	if j := l.remove(nowMs); j != nil {
		jobs = append(jobs, j)
	}
	return jobs
}

func (l *Log) maintain(nowMs int64) *Job {
	m := &l.maintenance
	if m.underWay || l.renaming || len(l.segments) == 0 {
		return nil
	}
	// Retention and cleaners rename the files that a task would open by name, so they take turns.
	l.checkpointIfDirty(nowMs)
	t, kind := l.maintainTask()
	if t == nil {
		return nil
	}
	m.underWay = true
	return &Job{Kind: kind, task: t}
}

// maintainTask collects what is to be written now; nil for nothing.
func (l *Log) maintainTask() (*maintainTask, Kind) {
	m := &l.maintenance
	// The producers were copied when their offset was staged. Its batches have to be in the file before it is synced.
	ready := 0
	for ready < len(m.due) && m.due[ready].at <= l.end {
		ready++
	}
	last := l.segments[len(l.segments)-1]
	entries := last.written && last.index.unwritten() >= l.env.Index.block()
	if ready == 0 && !entries {
		return nil, KindBulk
	}
	t := &maintainTask{dir: l.dir}
	if ready == 0 {
		// Without a recovery point entries are only moved out of memory, and nothing is synced. The batches behind the
		// point tell their leader epochs.
		t.segments = []segmentWork{{segment: last, block: last.index.block()}}
		return t, KindBulk
	}
	t.epochs, t.epochsDue, l.epochsDirty = l.epochs, l.epochsDirty, false
	t.to = m.due[ready-1]
	t.ready = ready
	t.snapshots = l.snapshotsDue(m.due[:ready])
	t.segments = l.toSync(t.to.at)
	t.stale = l.stale
	return t, KindFsync
}

// checkpointIfDirty asks for a recovery point when this log's part of the dirty bytes is used up, or it is old.
func (l *Log) checkpointIfDirty(nowMs int64) {
	m := &l.maintenance
	dirty := m.dirty()
	if dirty < quietShare || len(m.due) > 0 || l.env.Dirty.held.Load() {
		return
	}
	if m.sinceMs == 0 {
		m.sinceMs = nowMs
	}
	if dirty >= l.env.Dirty.share() || nowMs-m.sinceMs >= quietMs {
		l.checkpointAt(l.next)
	}
}

// snapshotsDue leaves out those that would be replaced at once: neither a segment's nor the last, or one of two at the same
// offset, where the log came to its share right before it rolled.
func (l *Log) snapshotsDue(due []snapshot) []snapshot {
	var out []snapshot
	for i, s := range due {
		if i == len(due)-1 || l.isBase(s.at) && due[i+1].at > s.at {
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
			segment: s, sync: true, sealed: i < len(l.segments)-1, block: s.index.block(), txnSize: s.txnIndex.written,
			txnSync: s.txnIndex.written > s.txnIndex.synced,
		})
	}
	return work
}
