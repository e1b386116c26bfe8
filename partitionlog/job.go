package partitionlog

import (
	"sync"
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
)

// Job is a piece of work on files that the owner of a log hands to a lane. It is run once and then given to Done with
// its outcome.
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

// RunAppends runs append jobs of any logs, each log's in the order they were staged, with one vectored write for those
// that follow each other in a file. The result is parallel to jobs. A write that fails fails every later append of its log.
func RunAppends(jobs []*Job) []error {
	errs := make([]error, len(jobs))
	scratch := scratches.Get().(*scratch)
	for i, j := range jobs {
		j.index = i
		if before := j.seg.lane; before != nil {
			before.next = j
		} else {
			scratch.heads = append(scratch.heads, j)
		}
		j.seg.lane = j
	}
	for _, head := range scratch.heads {
		head.seg.lane = nil
		scratch.write(head, errs)
	}
	clear(scratch.heads)
	scratch.heads = scratch.heads[:0]
	scratches.Put(scratch)
	return errs
}

type scratch struct {
	heads []*Job
	bufs  [][]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// write writes a chain of appends to one file.
func (s *scratch) write(head *Job, errs []error) {
	done, err := s.writeData(head)
	for j := head; j != nil; {
		done -= int64(len(j.data))
		if done >= 0 && j.txn != nil && errs[j.index] == nil {
			if txnErr := j.txn.write(j.seg); txnErr != nil {
				j.log.set(txnErr)
				done, err = -1, txnErr
			}
		}
		if done < 0 {
			errs[j.index] = err
		}
		next := j.next
		j.next = nil
		j = next
	}
}

// writeData tells how many bytes are in the file; fewer than those of the chain go with an error.
func (s *scratch) writeData(head *Job) (int64, error) {
	if err := head.log.get(); err != nil {
		return 0, err
	}
	n, err := s.writeFile(head)
	if err != nil {
		head.log.set(err)
	}
	return n, err
}

func (s *scratch) writeFile(head *Job) (int64, error) {
	u := useAppend
	if head.first {
		u = useCreate
		if err := head.seg.file.dir.make(); err != nil {
			return 0, err
		}
		head.seg.file.dir.named()
	}
	f, err := head.seg.file.pin(u)
	if err != nil {
		return 0, err
	}
	defer head.seg.file.unpin()
	if head.first && head.room > 0 {
		if err := f.Allocate(head.room); err != nil {
			return 0, err
		}
	}
	if head.next == nil {
		n, err := f.WriteAt(head.data, head.pos)
		return int64(n), err
	}
	bufs := s.bufs[:0]
	for j := head; j != nil; j = j.next {
		bufs = append(bufs, j.data)
	}
	s.bufs = bufs[:0]
	defer clear(bufs)
	return f.WriteVectorAt(bufs, head.pos)
}

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
	l.addMark(mark{l.end, j.pos})
	l.size += int64(len(j.data))
	l.end = j.data.NextOffset()
	l.maintenance.written(l.env.Dirty, int64(len(j.data)))
	l.view = nil
}

// Recent positions are kept for so many batches, fewer when memory is scarce.
const (
	mostMarks  = 128
	fewMarks   = 16
	firstMarks = 8
	markSize   = 16
)

// addMark notes where a batch begins. Views share the array, so a full one is left to them.
func (l *Log) addMark(m mark) {
	if len(l.marks) == cap(l.marks) {
		most := mostMarks
		if l.env.Index.scarce() {
			most = fewMarks
		}
		size := min(max(2*cap(l.marks), firstMarks), most)
		l.setMarks(append(make([]mark, 0, size), l.marks[max(0, len(l.marks)-size/2):]...))
	}
	l.marks = append(l.marks, m)
}

func (l *Log) setMarks(marks []mark) {
	l.env.Index.charge((cap(marks) - cap(l.marks)) * markSize)
	l.marks = marks
}
