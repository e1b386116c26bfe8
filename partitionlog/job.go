package partitionlog

import (
	"sync/atomic"

	"troupe/codec/batch"
	"troupe/internal/invariant"
)

// Kind says which lane a Job is for.
type Kind uint8

// The kinds.
const (
	// KindAppend writes a staged batch. The appends of a log run in the order they were staged, on one lane.
	KindAppend Kind = iota
	// KindFsync waits for the disk to have what was written.
	KindFsync
	// KindBulk reads, renames or removes files.
	KindBulk
	// KindCreate makes the files of a new log.
	KindCreate
)

// Job is a piece of work on files that the owner of a log hands to a lane. It is run once and then given to Done with
// its outcome. Running it reads nothing of the Log, which its owner goes on changing: what it needs was copied when it was
// made, and what it finds out waits in it for Done.
type Job struct {
	Kind Kind

	task task // nil for an append

	// The rest is an append's.
	log   *failure
	seg   *segment
	data  batch.View
	pos   int64
	first bool // of its segment: the file is to be made
	room  int64
	txn   *txnEntries
	next  *Job // the append that continues this one in the file, within one RunAppends
	index int  // in that call
}

// task is a job that is no append: run does the work without looking at the log, done applies it.
type task interface {
	run() error
	done(l *Log, err error)
}

// failure makes the first failed write of a log known to the appends queued behind it, which must not leave a hole.
type failure struct{ err atomic.Pointer[error] }

func (f *failure) set(err error) { f.err.CompareAndSwap(nil, &err) }

func (f *failure) get() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Run does the work, which may take as long as a disk takes.
func (j *Job) Run() error {
	if j.task != nil {
		return j.task.run()
	}
	return RunAppends([]*Job{j})[0]
}

// Bytes is what an append writes; 0 for other jobs.
func (j *Job) Bytes() int64 { return int64(len(j.data)) }

// Done applies the outcome of a job: its own result of Run or RunAppends. Jobs of one kind are done in the order they
// were made. After an error of a write or a sync the log is poisoned; see Err.
func (l *Log) Done(j *Job, err error) {
	if j.task != nil {
		j.task.done(l, err)
		return
	}
	l.outstanding--
	switch {
	case l.failed != nil:
	case err != nil:
		l.poison(err)
	default:
		l.appended(j)
	}
}

// appended makes a written batch visible.
func (l *Log) appended(j *Job) {
	if j.first {
		if l.visible == 0 || l.segments[l.visible-1] != j.seg {
			l.visible++
		}
		l.size = 0
		l.setMarks(nil)
		j.seg.written = true
	}
	if l.segments[l.visible-1] != j.seg || l.size != j.pos { // asked here, since the arguments below allocate
		invariant.Check(false, "%s: appends are done in the order they were staged (position %d, expected %d)", l.tp, j.pos, l.size)
	}
	if j.txn != nil {
		j.seg.txnIndex.written = j.txn.end()
	}
	l.addMark(mark{l.end, j.pos})
	l.size += int64(len(j.data))
	l.end = j.data.NextOffset()
	l.maintenance.written(l.env.Dirty, int64(len(j.data)))
	l.view = nil
}
