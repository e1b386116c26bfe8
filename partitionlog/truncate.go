package partitionlog

import (
	"errors"

	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// TruncateTo gives the job that removes the batches that end at or after an offset, when a follower's log has parted from
// its leader's; nil when there are none. The log is busy until it is done, and then ends at or before the offset.
//
// RecoveryPoint falls. The owner has it checkpointed before it stages the next batch: else, after a power cut, the
// older recovery point vouches for what is written from then on.
func (l *Log) TruncateTo(o model.Offset) *Job {
	if o >= l.end {
		return nil
	}
	// Nothing that may be read would be left, and the file of the first segment, or the start in the checkpoint, would say that
	// the log begins later than it does. One that ends where it begins keeps its file: were there none for a moment, a crash
	// then would let the log begin at 0.
	if len(l.segments) == 0 || o < l.start {
		return l.Reset(o)
	}
	l.begin()
	return &Job{Kind: KindBulk, task: &truncateTask{view: l.View(), to: o, loader: l.reloader(OpenParams{
		RecoveryPoint: min(l.recovered, o), HighWatermark: min(l.hw, o), LogStart: l.start, TopicID: l.topic,
	})}}
}

// Reset gives the job that removes everything, leader epochs and producers with it, and lets the log begin and end at an
// offset: for a follower that has nothing in common with its leader any more, or whose leader's log begins in the midst of
// a batch (ErrUnexpectedOffset). What TruncateTo says of RecoveryPoint holds here too. LogStart and HighWatermark are the
// offset then, though they may have been higher.
func (l *Log) Reset(at model.Offset) *Job {
	l.begin()
	ld := l.reloader(OpenParams{RecoveryPoint: at, HighWatermark: at, LogStart: at, TopicID: l.topic})
	// An epoch of what was there would be told to the next leader as the last one seen, which may have ended before the offset
	// there: the leader would ask for another truncation, and that one for another Reset.
	ld.epochs = checkpoint.Epochs{}
	return &Job{Kind: KindBulk, task: &truncateTask{to: at, loader: ld}}
}

// reloader reads what is left. Entries of indexes that are only in memory are not lost by that: the batches are read
// from the last written entry on. The epochs come from memory, which may be ahead of their file.
func (l *Log) reloader(p OpenParams) *loader {
	ld := &loader{env: l.env, dir: l.dir, tp: l.tp, cfg: l.cfg, params: p, replayFrom: unchecked}
	ld.epochs, ld.epochsDirty = l.epochs, true
	return ld
}

type truncateTask struct {
	view   *View // nil removes everything
	to     model.Offset
	loader *loader
}

func (t *truncateTask) run() error {
	ld := t.loader
	if err := ld.dir.make(); err != nil {
		return err
	}
	if err := t.cut(); err != nil {
		return err
	}
	names, err := ld.env.FS.ReadDir(ld.dir.path)
	if err != nil {
		return err
	}
	if err := ld.load(names); err != nil {
		ld.abandon()
		return err
	}
	// What comes next may have lower epochs than what was removed, so the file must not lag behind.
	ld.epochsDirty = false
	return checkpoint.WriteEpochs(ld.env.FS, ld.dir.file(checkpoint.LeaderEpochs), ld.epochs)
}

// cut removes the later segments, the last one first, then the end of the one that holds the offset. Each is durable
// before the next: were the removal undone by a power cut, a later segment might follow a shortened one, or what is
// appended next. A snapshot beyond the offset tells of batches that are gone. The loader ends the removal.
func (t *truncateTask) cut() error {
	ld := t.loader
	names, err := ld.env.FS.ReadDir(ld.dir.path)
	if err != nil {
		return err
	}
	keep, at := model.NoOffset, -1
	if t.view != nil {
		at = segmentAt(t.view.segments, t.to)
		keep = t.view.segments[at].base
	}
	if err := ld.dir.beginRemoval(); err != nil {
		return err
	}
	if at < 0 { // first: as long as there are batches they tell their epochs
		if err := ld.removeName(checkpoint.LeaderEpochs); err != nil {
			return err
		}
	}
	for i := len(names) - 1; i >= 0; i-- {
		id, ok := parseFileID(names[i].Name())
		if ok && (id.suffix == suffixSnapshot && (id.offset > t.to || at < 0) || id.suffix != suffixSnapshot && id.offset > keep) {
			if err := ld.dir.remove(id); err != nil {
				return err
			}
		}
	}
	if err := ld.env.FS.SyncDir(ld.dir.path); err != nil {
		return err
	}
	if at < 0 {
		return errors.Join(emptySegment(ld.dir, t.to), ld.dir.sync()) // the directory may be new, too
	}
	x := t.view.extent(at)
	return x.withFile(func(f vfs.File) error {
		pos, err := t.view.locate(f, x, t.to)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(pos), f.Sync())
	})
}

func (t *truncateTask) done(l *Log, err error) {
	l.exclusive = false
	if err != nil {
		l.poison(err)
		return
	}
	l.releaseContent()
	l.removals = nil
	l.adopt(t.loader)
}
