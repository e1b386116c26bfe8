package partitionlog

import (
	"cmp"
	"os"

	"troupe/internal/model"
)

// Retention gives the job that removes the oldest segments by age, by size, and below the log start
// (facts/storage-format.md 8); nil when all stay. Nothing at or above the high watermark goes. The files are renamed,
// and unlinked after file.delete.delay.ms by a job of Background; the removal itself comes from there too when it has
// to wait for other work.
func (l *Log) Retention(nowMs int64) *Job {
	if l.usable() != nil || l.visible == 0 {
		return nil
	}
	// Maintenance opens by name the files that this renames, and a cleaner renames them too.
	l.retentionDue = l.maintenance.underWay || l.renaming
	if l.retentionDue {
		return nil
	}
	n, by := l.expired(nowMs)
	if n == 0 {
		return nil
	}
	t := &retentionTask{dir: l.dir, segments: l.segments[:n:n], dueMs: nowMs + l.cfg.FileDeleteDelayMs, by: by}
	if n == len(l.segments) {
		// The file of the next segment keeps the log's end when all records are gone.
		l.beginSegment(l.next, nowMs)
		t.next = l.segments[n]
	}
	l.renaming = true
	return &Job{Kind: KindBulk, task: t}
}

// Expired tells what a job of Retention removes, and by which rule the oldest of it goes; the zero value for other jobs.
func (j *Job) Expired() Expired {
	t, ok := j.task.(*retentionTask)
	if !ok {
		return Expired{}
	}
	e := Expired{Segments: len(t.segments), By: t.by}
	for _, s := range t.segments {
		e.Bytes += s.size
	}
	return e
}

// Expired is what retention removes at once.
type Expired struct {
	Segments int
	Bytes    int64
	By       string // retention.ms, retention.bytes, or log start
}

// The rules that a segment goes by.
const (
	byTime  = "retention.ms"
	bySize  = "retention.bytes"
	byStart = "log start"
)

// expired counts the oldest segments that retention does not keep, and names the rule that takes the first of them.
func (l *Log) expired(nowMs int64) (n int, by string) {
	excess := l.total - l.cfg.RetentionBytes
	for i, s := range l.segments[:l.visible] {
		active := i == len(l.segments)-1
		end := l.next
		if !active {
			end = l.segments[i+1].base
		}
		if end > l.hw || active && (s.size == 0 || l.outstanding > 0) {
			return i, by
		}
		// The active segment goes only when it holds records, and none is on its way to it: it is sealed first.
		rule := ""
		if l.cfg.DeleteOld {
			if l.cfg.RetentionBytes >= 0 && excess >= s.size {
				rule = bySize
				excess -= s.size
			}
			if l.cfg.RetentionMs >= 0 && nowMs-s.newestMs() > l.cfg.RetentionMs {
				rule = byTime
			}
		}
		// Records below the log start go under every policy, but the last segment stays to hold the log's end.
		if rule == "" && (active || end > l.start) {
			return i, by
		}
		by = cmp.Or(by, rule, byStart)
	}
	return l.visible, by
}

// newestMs is what the age of a segment counts from: its greatest timestamp, else the time of its last write.
func (s *segment) newestMs() int64 {
	if t := s.index.greatest().timestampMs; t >= 0 {
		return t
	}
	return s.roll.modifiedMs
}

type retentionTask struct {
	dir      *directory
	segments []*segment
	next     *segment // set when no other segment is left
	dueMs    int64
	by       string

	renamed []fileID
}

// run renames and unlinks nothing: who reads from a view that was made before goes on until file.delete.delay.ms is over.
// The snapshot of a segment goes at once, since only an opening reads it. A crash in between leaves a log that begins
// with any of the segments; the next round takes the rest.
func (t *retentionTask) run() error {
	if t.next != nil {
		// It is durable before the first of the others goes: a directory without segments is a log that begins at 0.
		if _, err := t.next.file.pin(useCreate); err != nil {
			return err
		}
		t.next.file.unpin()
		if err := t.dir.sync(); err != nil {
			return err
		}
	}
	for _, s := range t.segments {
		files, err := s.file.rename(suffixDeleted)
		t.renamed = append(t.renamed, files...)
		if err != nil {
			return err
		}
		if err := t.dir.remove(fileID{offset: s.base, suffix: suffixSnapshot}); err != nil {
			return err
		}
	}
	return nil
}

// done moves the log start up to the first segment that is left, also where retention was asked for and not DeleteRecords:
// what has no file is out of range.
func (t *retentionTask) done(l *Log, err error) {
	l.renaming = false
	if err != nil {
		l.failedBackground(err)
		return
	}
	// Views that were made before hold the old array and may read the renamed files until they are unlinked.
	n := len(t.segments)
	for _, s := range t.segments {
		l.total -= s.size
	}
	l.segments = l.segments[n:len(l.segments):len(l.segments)]
	l.visible -= n
	if l.visible == 0 {
		l.size = 0
		l.setMarks(nil)
	}
	l.removals = append(l.removals, removal{files: t.renamed, segments: t.segments, dueMs: t.dueMs})
	l.raiseStart(l.segments[0].base)
	l.view = nil
}

// emptySegment makes the file of a segment without batches.
func emptySegment(dir *directory, base model.Offset) error {
	f, err := dir.open(fileID{offset: base, suffix: suffixLog}, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}
