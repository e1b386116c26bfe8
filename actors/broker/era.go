package broker

import (
	"context"
	"path/filepath"

	"troupe/actors/disk"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// compareEra finds out whether the page cache that the last process wrote to is still there. A mark whose era is over goes
// before anything is written: were this process to end early, a later one might find that era again, on a file system that
// two machines share or that one has mounted twice, and take what this one wrote for its own.
func (d *directory) compareEra(fsys vfs.FS) (err error) {
	mark := filepath.Join(d.path, checkpoint.Era)
	if d.kept, err = checkpoint.EraLasts(fsys, mark); err != nil {
		return err
	}
	if !d.kept {
		return checkpoint.RemoveEra(fsys, mark)
	}
	d.keptEpoch, _, err = checkpoint.ReadCleanShutdown(fsys, filepath.Join(d.path, checkpoint.KeptEpoch))
	return err
}

// noteEpoch lets the next start, in the same era, tell the controller which life it follows on: one whose writes are all there.
// A process that is killed before the lanes have come to it looks like one that lost something, which is safe.
func (b *Broker) noteEpoch(epoch model.BrokerEpoch) {
	for _, d := range b.directories {
		file := filepath.Join(d.path, checkpoint.KeptEpoch)
		b.dirOf(d.path).BulkLane(model.TopicPartition{}).Send(&disk.Task{
			Name: "note broker epoch", Do: func() error { return checkpoint.WriteCleanShutdown(b.fs, file, epoch) },
			Done: func(err error) {
				if err != nil && !partitionlog.Passes(err) { // of a full disk the warden tells
					b.log.Warn("a start after a kill will look to the controller like one after a power cut", "dir", d.path, "err", err)
				}
			},
		})
	}
}

// noteEras lets the next start take what this process writes for whole. It comes when every log has been opened, and with
// that checked as far as the last power cut may have damaged it: with one that could not be, there is no mark, and all are
// checked again.
func (b *Broker) noteEras() {
	b.env.Dirty.Release()
	if b.opening.failures.Load() > 0 {
		return
	}
	for _, d := range b.directories {
		if d.kept {
			continue
		}
		if err := checkpoint.NoteEra(b.fs, filepath.Join(d.path, checkpoint.Era)); err != nil {
			b.log.Warn("a start after a kill will check more than it has to", "dir", d.path, "err", err)
		}
		// The warden may have come by before there was a mark to forget.
		if b.dirOf(d.path).Err() != nil && b.forgetEra(d.path) != nil {
			b.refs.warden.Send(&eraDue{path: d.path})
		}
	}
}

// forgetEra has the logs of a failed directory checked whole at the next start, if its disk can be told so now.
func (b *Broker) forgetEra(path string) error {
	return checkpoint.RemoveEra(b.fs, filepath.Join(path, checkpoint.Era))
}

// forgetFailedEras comes last in a process, when the warden has no more tries: what was written to a disk that failed and came
// back must not look sound to the next start.
func (b *Broker) forgetFailedEras() {
	for _, d := range b.dirs {
		if d.Err() == nil {
			continue
		}
		tried := make(chan error, 1)
		go func() { tried <- b.forgetEra(d.Path) }() // a disk that hangs keeps nobody from ending
		ctx, cancel := context.WithTimeout(context.Background(), haltWithin)
		var err error
		select {
		case err = <-tried:
		case <-ctx.Done():
			err = ctx.Err()
		}
		cancel()
		if err != nil {
			b.log.Error("log directory will look sound to the next start: remove the file before it", "file", filepath.Join(d.Path, checkpoint.Era), "err", err)
		}
	}
}
