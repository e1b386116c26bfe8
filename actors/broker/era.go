package broker

import (
	"path/filepath"

	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// compareEra finds out whether the page cache that the last process wrote to is still there.
func (d *directory) compareEra(fsys vfs.FS) (err error) {
	if d.era, err = fsys.Era(d.path); err != nil || d.era == "" {
		return err
	}
	noted, err := checkpoint.ReadEra(fsys, filepath.Join(d.path, checkpoint.Era))
	d.kept = noted == d.era
	return err
}

// noteEras lets the next start take what this process writes for whole. It comes when every log has been opened, and with
// that checked as far as the last power cut may have damaged it: with one that could not be, the old mark is left, which
// is of another era, and all are checked again.
func (b *Broker) noteEras() {
	b.env.Dirty.Release()
	if b.opening.failures.Load() > 0 {
		return
	}
	for _, d := range b.directories {
		if d.era == "" || d.kept {
			continue
		}
		if err := checkpoint.WriteEra(b.fs, filepath.Join(d.path, checkpoint.Era), d.era); err != nil {
			b.log.Warn("a start after a kill will check more than it has to", "dir", d.path, "err", err)
		}
	}
}

// forgetEra has the logs of a failed directory checked whole at the next start, if its disk can still be told so.
func (b *Broker) forgetEra(path string) {
	if err := checkpoint.RemoveEra(b.fs, filepath.Join(path, checkpoint.Era)); err != nil {
		b.log.Error("log directory will look sound to the next start: remove the file before it", "file", filepath.Join(path, checkpoint.Era), "err", err)
	}
}
