package partitionlog

import (
	"errors"

	"troupe/internal/vfs"
)

// Create gives the job that makes the directory and partition.metadata of a new log durable, nil when that was asked for or
// they are there. Appends do not wait for it: the first of them writes both when it comes earlier, and leaves the waiting
// for the disk to this job.
func (l *Log) Create() *Job {
	if l.creation != creationDue || l.usable() != nil {
		return nil
	}
	l.creation = creationUnderWay
	return &Job{Kind: KindCreate, task: &createTask{dir: l.dir}}
}

type createTask struct{ dir *directory }

// run holds no lock while it waits for the disk: appends open files meanwhile.
func (t *createTask) run() error {
	if err := t.dir.prepare(); err != nil || t.dir.topic.IsZero() {
		return err
	}
	path := t.dir.file("")
	if err := errors.Join(t.dir.syncIdentity(path), t.dir.fs.SyncDir(path)); err != nil {
		t.dir.identity.Store(identityMissing) // no batch relies on it yet, or its own sync meets the error too
		return err
	}
	t.dir.identity.Store(identityDurable)
	return nil
}

// createTogether makes many new logs durable by one sync: a topic of thousands of partitions would keep the disk busy for
// many seconds with two of each, and the metadata log and the first appends with it.
func createTogether(fsys vfs.FS, dir string, jobs []*Job) (errs []error, supported bool) {
	errs = make([]error, len(jobs))
	for i, j := range jobs {
		errs[i] = j.task.(*createTask).dir.prepare()
	}
	synced := fsys.SyncAll(dir)
	if errors.Is(synced, errors.ErrUnsupported) {
		return nil, false
	}
	for i, j := range jobs {
		d := j.task.(*createTask).dir
		switch {
		case errs[i] != nil || d.topic.IsZero():
		case synced != nil:
			d.identity.Store(identityMissing) // as in run
			errs[i] = synced
		default:
			d.identity.Store(identityDurable)
		}
	}
	return errs, true
}

func (t *createTask) done(l *Log, err error) {
	if err == nil {
		l.creation = creationDone
		return
	}
	l.creation = creationDue
	l.failedBackground(err)
}

// removal is files renamed to .deleted that wait for file.delete.delay.ms.
type removal struct {
	files    []fileID
	segments []*segment
	dueMs    int64
}

func (r removal) releaseIndexes() {
	for _, s := range r.segments {
		s.index.release()
	}
}

// remove gives the job that unlinks what has waited long enough.
func (l *Log) remove(nowMs int64) *Job {
	due := 0
	for due < len(l.removals) && l.removals[due].dueMs <= nowMs {
		due++
	}
	if due == 0 {
		return nil
	}
	// A clock that was set back only delays them.
	t := &removeTask{dir: l.dir, removals: l.removals[:due:due]}
	// Until now readers with an older view could search these indexes.
	for _, r := range t.removals {
		r.releaseIndexes()
	}
	l.removals = l.removals[due:]
	return &Job{Kind: KindBulk, task: t}
}

type removeTask struct {
	dir      *directory
	removals []removal
}

func (t *removeTask) run() error {
	var errs []error
	for _, r := range t.removals {
		for _, s := range r.segments {
			s.file.forget()
		}
		for _, f := range r.files {
			errs = append(errs, t.dir.remove(f))
		}
	}
	return errors.Join(errs...)
}

// done: a file that stays is removed when the log is next opened.
func (t *removeTask) done(*Log, error) {}
