package partitionlog

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"troupe/internal/model"
)

// Replacement is what a cleaning made of a group of segments: one segment, in files that are not part of the log yet.
// It is put in place by Replace, or discarded.
type Replacement struct {
	sources []*segment
	segment *segment
	// taken is set once a job has the files: nobody else touches them any more.
	taken atomic.Bool
}

// Saved is by how many bytes the log shrinks.
func (r *Replacement) Saved() int64 {
	saved := -r.segment.size
	for _, s := range r.sources {
		saved += s.size
	}
	return saved
}

// Discard removes the files, unless a job of Replace has them. It works on the disk.
func (r *Replacement) Discard() error {
	if r.taken.Load() {
		return nil
	}
	err := removeFiles(r.segment.file)
	r.segment.file.forget()
	r.segment.index.release()
	return err
}

// Replace gives the job that puts cleaned segments in the place of those that they were made of. Readers with an older
// view go on with the old files, which are unlinked after file.delete.delay.ms. ErrBusy asks to try again when a job has
// ended; after ErrStale, or when the log failed, the replacement is of no use: the segments were removed meanwhile.
func (l *Log) Replace(r *Replacement, nowMs int64) (*Job, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	if l.renaming || l.maintenance.underWay {
		return nil, ErrBusy
	}
	at := slices.Index(l.segments, r.sources[0])
	end := at + len(r.sources)
	if at < 0 || end >= l.visible || !slices.Equal(l.segments[at:end], r.sources) {
		return nil, ErrStale
	}
	t := &replaceTask{dir: l.dir, Replacement: r, at: at, proof: l.snapshot, dueMs: nowMs + l.cfg.FileDeleteDelayMs}
	r.segment.roll.modifiedMs = r.sources[len(r.sources)-1].roll.modifiedMs
	l.removals = slices.DeleteFunc(l.removals, func(x removal) bool {
		clashes := slices.ContainsFunc(x.segments, func(s *segment) bool {
			return s.base >= r.sources[0].base && s.base <= r.sources[len(r.sources)-1].base
		})
		if clashes {
			t.former.removals = append(t.former.removals, x)
		}
		return clashes
	})
	t.former.dir = l.dir
	for _, x := range t.former.removals {
		x.releaseIndexes()
	}
	l.renaming = true
	r.taken.Store(true)
	return &Job{Kind: KindBulk, task: t}, nil
}

// replaceTask swaps files so that a crash at any moment leaves the old segments or the new one (finishSwaps):
//
//	sync    the names of the new files are durable
//	rename  .cleaned -> .swap; while one .cleaned is left, a start drops all of them
//	sync    from here on a start puts the new segment in place
//	rename  old files -> .deleted
//	sync    before the last .swap goes: what it covers must not come back beside it
//	rename  .swap -> none
//	sync
type replaceTask struct {
	*Replacement
	dir *directory
	at  int // of the first source among the segments
	// proof is the snapshot that tells a start that the gaps which cleaning leaves are no loss.
	proof  model.Offset
	dueMs  int64
	former removeTask // files whose names the old segments take now

	renamed []fileID
}

func (t *replaceTask) run() error {
	if err := t.clear(); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return t.rename(suffixSwap) },
		t.setAside,
		func() error { return t.rename("") },
		t.dropSnapshots,
	}
	for _, step := range steps {
		if err := syncNames(t.dir); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return syncNames(t.dir)
}

// clear removes what stands in the way: files set aside earlier under the names that are needed now, and what cleanings
// left that were cut short, which after a crash would be taken for a part of this one.
func (t *replaceTask) clear() error {
	if err := t.former.run(); err != nil {
		return err
	}
	proof := fileID{offset: t.proof, suffix: suffixSnapshot}
	if err := t.segment.file.cache.once(t.dir, proof, os.O_RDWR, syncFile); err != nil {
		return err
	}
	own := map[string]bool{}
	for _, x := range append([]suffix{suffixLog}, besides...) {
		id, _ := t.segment.file.beside(x)
		own[id.String()] = true
	}
	names, err := t.dir.fs.ReadDir(t.dir.file(""))
	if err != nil {
		return err
	}
	for _, e := range names {
		name := e.Name()
		if own[name] || !strings.HasSuffix(name, suffixCleaned) && !strings.HasSuffix(name, suffixSwap) {
			continue
		}
		if err := t.dir.fs.Remove(t.dir.file(name)); err != nil {
			return err
		}
	}
	return nil
}

func (t *replaceTask) rename(state string) error {
	_, err := t.segment.file.rename(state)
	return err
}

func (t *replaceTask) setAside() error {
	for _, s := range t.sources {
		files, err := s.file.rename(suffixDeleted)
		t.renamed = append(t.renamed, files...)
		if err != nil {
			return err
		}
	}
	return nil
}

// dropSnapshots removes those at the bases of segments that are no more. The newest is never among them: it stands at
// the recovery point, before which a cleaning ends.
func (t *replaceTask) dropSnapshots() error {
	for _, s := range t.sources[1:] {
		if err := t.dir.remove(fileID{offset: s.base, suffix: suffixSnapshot}); err != nil {
			return err
		}
	}
	return nil
}

// syncNames syncs whatever the directory remembers of its names: a file that another process left is none of them.
func syncNames(d *directory) error {
	if err := d.fs.SyncDir(d.file("")); err != nil {
		return syncError{err}
	}
	return nil
}

func (t *replaceTask) done(l *Log, err error) {
	l.renaming = false
	if err != nil {
		// The directory is between two states. Opening the log anew brings it to one of them.
		t.segment.file.forget()
		t.segment.index.release()
		l.poison(err)
		return
	}
	for _, s := range t.sources {
		l.total -= s.size
	}
	l.total += t.segment.size
	l.segments = slices.Concat(l.segments[:t.at], []*segment{t.segment}, l.segments[t.at+len(t.sources):])
	l.visible -= len(t.sources) - 1
	l.removals = append(l.removals, removal{files: t.renamed, segments: t.sources, dueMs: t.dueMs})
	l.view = nil
}
