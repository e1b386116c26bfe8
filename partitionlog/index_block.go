package partitionlog

import (
	"errors"
	"os"

	"troupe/internal/vfs"
)

// indexBlock is entries on their way to the files.
type indexBlock struct {
	index          *segIndex
	offsets, times []byte
	offsetsAt      int64
	timesAt        int64
}

// block takes what is to be written now. One block is under way at a time, until written.
func (x *segIndex) block() indexBlock {
	x.mu.Lock()
	defer x.mu.Unlock()
	return indexBlock{
		index: x, offsets: x.offsets.tail, times: x.times.tail,
		offsetsAt: int64(x.offsets.onDisk * offsetEntrySize), timesAt: int64(x.times.onDisk * timeEntrySize),
	}
}

// write puts the entries in the files, which it makes when they are new. A segment has both files from its first
// write on, so that a missing one is known for lost. A recovery trusts entries of batches before the recovery point, so
// they are synced before that moves, as Kafka does.
func (b *indexBlock) write(sync bool) error {
	write := func(s suffix, data []byte, at int64) error {
		if len(data) == 0 && at > 0 && !sync {
			return nil
		}
		return b.index.files.once(b.index.log.dir, b.index.name(s), os.O_RDWR|os.O_CREATE, func(f vfs.File) error {
			if _, err := f.WriteAt(data, at); err != nil || !sync {
				return err
			}
			return syncFile(f)
		})
	}
	return errors.Join(write(suffixIndex, b.offsets, b.offsetsAt), write(suffixTimeIndex, b.times, b.timesAt))
}

func (b *indexBlock) written() {
	x := b.index
	x.mu.Lock()
	defer x.mu.Unlock()
	keep := !x.budget.scarce()
	x.charge(x.offsets.written(len(b.offsets), keep) + x.times.written(len(b.times), keep))
}
