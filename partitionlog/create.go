package partitionlog

import (
	"errors"

	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// Create gives the job that makes the directory and partition.metadata of a new log, nil when that was asked for or
// they are there. Appends do not wait for it.
func (l *Log) Create() *Job {
	if l.creation != creationDue || l.usable() != nil {
		return nil
	}
	l.creation = creationUnderWay
	return &Job{Kind: KindBulk, task: &createTask{dir: l.dir, topic: l.topic}}
}

type createTask struct {
	dir   *directory
	topic model.TopicID
}

func (t *createTask) run() error {
	if err := t.dir.make(); err != nil {
		return err
	}
	if t.topic.IsZero() {
		return nil
	}
	return writeTopicID(t.dir, t.topic)
}

func (t *createTask) done(l *Log, err error) {
	if err == nil {
		l.creation = creationDone
		return
	}
	l.creation = creationDue
	l.failedBackground(err)
}

func writeTopicID(dir *directory, topic model.TopicID) error {
	return checkpoint.WriteTopicID(dir.fs, dir.file(checkpoint.PartitionMetadata), topic)
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
