package partitionlog

import (
	"errors"
	"slices"

	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// groupLeast is from how many logs on one sync of the whole file system, which other programs may be writing to as well,
// is taken for cheaper than five of each log, or two of each new one.
const groupLeast = 16

// Groups tells that RunGroup does a job for many logs at once: it moves a recovery point, of a log that is closed too, or makes
// a new log durable.
func (j *Job) Groups() bool {
	if _, creates := j.task.(*createTask); creates {
		return true
	}
	t := j.maintenance()
	return t != nil && t.ready > 0
}

// maintenance is nil for a job that is something else.
func (j *Job) maintenance() *maintainTask {
	switch t := j.task.(type) {
	case *maintainTask:
		return t
	case *closeTask:
		return t.maintainTask
	}
	return nil
}

// RunGroup runs jobs that Groups of logs in one directory, all of one Kind. Recovery points move in the order that
// maintainTask asks for: each step is taken for all logs before the next. With thousands of busy logs a disk that syncs a file in a
// millisecond would move each recovery point once in half a minute, and a restart would read all that was written
// meanwhile. The result is parallel to jobs.
func RunGroup(fsys vfs.FS, dir string, jobs []*Job) []error {
	if len(jobs) >= groupLeast {
		if errs, supported := runTogether(fsys, dir, jobs); supported {
			return errs
		}
	}
	errs := make([]error, len(jobs))
	for i, j := range jobs {
		errs[i] = j.Run()
	}
	return errs
}

func runTogether(fsys vfs.FS, dir string, jobs []*Job) (errs []error, supported bool) {
	if jobs[0].Kind == KindCreate {
		return createTogether(fsys, dir, jobs)
	}
	g := group{fs: fsys, dir: dir, errs: make([]error, len(jobs))}
	for _, j := range jobs {
		g.tasks = append(g.tasks, j.maintenance())
	}
	return g.errs, g.run()
}

type group struct {
	fs    vfs.FS
	dir   string
	tasks []*maintainTask
	errs  []error
}

// run gives false, with nothing done that counts, where the machine cannot sync a whole file system.
//
// Everything is written before the one sync, the snapshots under names that do not count after a power cut. That a snapshot
// bears its own name shows, as for a single log, that all before it was synced. Leader epochs have to be in place before
// a snapshot has either name, which takes a second sync in the rare groups that have any.
func (g *group) run() bool {
	g.each((*maintainTask).prepare)
	if !g.sync() {
		g.each((*maintainTask).dropPrepared) // else each attempt would leave some behind; the next opening takes the rest
		clear(g.errs)
		return false
	}
	if slices.ContainsFunc(g.tasks, func(t *maintainTask) bool { return t.epochsDue }) {
		g.each((*maintainTask).placeEpochs)
		g.each((*maintainTask).prepareSnapshots)
		g.sync()
	}
	g.each((*maintainTask).placeSnapshots)
	g.each((*maintainTask).removeStale)
	return true
}

func (t *maintainTask) prepare() error {
	for i := range t.segments {
		if err := t.segments[i].block.write(false); err != nil {
			return err
		}
	}
	if t.epochsDue {
		return checkpoint.PrepareEpochs(t.dir.fs, t.dir.file(checkpoint.LeaderEpochs), t.epochs)
	}
	return t.writePrepared()
}

// prepareSnapshots is for the tasks whose epochs had to be placed first.
func (t *maintainTask) prepareSnapshots() error {
	if !t.epochsDue {
		return nil
	}
	return t.writePrepared()
}

func (t *maintainTask) writePrepared() error {
	for _, s := range t.snapshots {
		if err := writeSnapshot(t.dir, s.unproved(), s.bytes, false); err != nil {
			return err
		}
	}
	return nil
}

func (t *maintainTask) dropPrepared() error {
	for _, s := range t.snapshots {
		if err := t.dir.remove(s.unproved()); err != nil {
			return err
		}
	}
	return nil
}

// unproved is the name of a snapshot before the sync. It tells that all before it was written, which is something only as
// long as the page cache lives (OpenParams.Kept).
func (s snapshot) unproved() fileID {
	return fileID{offset: s.at, suffix: suffixSnapshot, state: suffixPrepared}
}

func (t *maintainTask) placeSnapshots() error {
	for _, s := range t.snapshots {
		if err := t.dir.rename(s.unproved(), s.file()); err != nil {
			return err
		}
	}
	return nil
}

func (t *maintainTask) placeEpochs() error {
	if !t.epochsDue {
		return nil
	}
	t.dir.disclaim()
	return checkpoint.PlaceEpochs(t.dir.fs, t.dir.file(checkpoint.LeaderEpochs))
}

// each takes a step for the logs of which none has failed.
func (g *group) each(step func(*maintainTask) error) {
	for i, t := range g.tasks {
		if g.errs[i] == nil {
			g.errs[i] = step(t)
		}
	}
}

func (g *group) sync() (supported bool) {
	for _, t := range g.tasks {
		t.dir.claim()
	}
	err := g.fs.SyncAll(g.dir)
	if err == nil {
		return true
	}
	for _, t := range g.tasks {
		t.dir.disclaim()
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	// What was lost is not known: all logs are taken for damaged.
	g.each(func(*maintainTask) error { return syncError{err} })
	return true
}
