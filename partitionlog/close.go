package partitionlog

import (
	"encoding/hex"
	"fmt"
	"path/filepath"

	"troupe/internal/model"
)

// Close gives the job that makes everything durable, so that the next Open with Clean set reads next to nothing; nil
// when that is so already. The log takes no more batches. The owner has drained it before: it is not Busy.
func (l *Log) Close() *Job {
	l.begin()
	j := &Job{Kind: KindFsync}
	var t *maintainTask
	if l.failed == nil && len(l.segments) > 0 {
		// The entry that ends the time index tells the next start the segment's greatest timestamp.
		l.segments[len(l.segments)-1].index.seal()
		if l.unsaved() {
			l.checkpointAt(l.next)
			t, _ = l.maintainTask()
		}
	}
	if t == nil {
		l.releaseContent()
		return nil
	}
	j.task = &closeTask{t}
	return j
}

// unsaved tells whether anything in memory differs from what Open would find.
func (l *Log) unsaved() bool {
	last := l.segments[len(l.segments)-1]
	return l.recovered < l.end || last.index.unwritten() > 0 || l.epochsDirty || len(l.maintenance.due) > 0 ||
		l.snapshot != l.end
}

type closeTask struct{ *maintainTask }

func (t *closeTask) done(l *Log, err error) {
	if err != nil {
		l.poison(err)
	} else {
		t.maintainTask.done(l, nil)
	}
	l.releaseContent()
}

// deleteNameMax is the longest name of a directory; Kafka shortens the topic to fit.
const deleteNameMax = 255

// Delete gives the job that renames the directory to "<topic>-<partition>.<unique>-delete", which no start takes for a
// log. The log takes no more batches and its views are out of date. RemoveDirectory does the rest, after
// file.delete.delay.ms or at the next start.
func (l *Log) Delete(unique model.UUID) *Job {
	l.begin()
	end := fmt.Sprintf("-%d.%s-delete", l.tp.Partition, hex.EncodeToString(unique[:]))
	name := l.tp.Topic[:min(len(l.tp.Topic), deleteNameMax-len(end))] + end
	return &Job{Kind: KindBulk, task: &deleteTask{dir: l.dir, to: filepath.Join(filepath.Dir(l.dir.file("")), name)}}
}

type deleteTask struct {
	dir *directory
	to  string
}

func (t *deleteTask) run() error {
	if err := t.dir.move(t.to); err != nil {
		return err
	}
	return t.dir.fs.SyncDir(filepath.Dir(t.to))
}

func (t *deleteTask) done(l *Log, err error) {
	if err != nil {
		l.poison(err)
	}
	l.releaseContent()
}

// RemoveDirectory gives the job that removes the directory of a deleted log. Its outcome needs no Done.
func RemoveDirectory(env *Env, dir string) *Job {
	return &Job{Kind: KindBulk, task: &removeDirectoryTask{env, dir}}
}

type removeDirectoryTask struct {
	env *Env
	dir string
}

func (t *removeDirectoryTask) run() error {
	if err := t.env.FS.RemoveAll(t.dir); err != nil {
		return err
	}
	return t.env.FS.SyncDir(filepath.Dir(t.dir))
}

func (t *removeDirectoryTask) done(*Log, error) {}
