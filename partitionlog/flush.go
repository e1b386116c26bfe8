package partitionlog

import (
	"errors"
	"syscall"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// failedBackground: what was to be written is still in memory, so a full disk does not end the log: a later job tries
// again. After a failed sync, and any other error, it is unknown what the disk has.
func (l *Log) failedBackground(err error) {
	if SyncFailed(err) || !Passes(err) {
		l.poison(err)
		return
	}
	l.backOff = true
}

// Passes tells the errors that end when somebody makes room.
func Passes(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, vfs.ErrNoDescriptor)
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

// SyncFailed tells that an error is that of a sync: what the disk has is unknown from then on.
func SyncFailed(err error) bool { return errors.As(err, new(syncError)) }

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
	// Appends that are still under way are left to the next one.
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
