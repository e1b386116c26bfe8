package partitionlog

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"troupe/internal/model"
)

// finishSwaps completes what the cleaner had decided: a .swap file is whole unless a .cleaned one at or below it shows
// that the cleaner had not come so far with the group. Segments that a swapped one covers are removed.
func (ld *loader) finishSwaps(swaps []fileID, lowestCleaned model.Offset) error {
	for _, id := range swaps {
		if lowestCleaned != model.NoOffset && id.offset >= lowestCleaned {
			if err := ld.removeName(id.String() + suffixSwap); err != nil {
				return err
			}
			continue
		}
		if id.suffix == suffixLog {
			if err := ld.removeCovered(id); err != nil {
				return err
			}
		}
	}
	// Indexes come first, so that the log of a segment shows that they are there.
	slices.SortFunc(swaps, func(a, b fileID) int { return cmp.Compare(a.suffix, b.suffix) })
	slices.SortStableFunc(swaps, func(a, b fileID) int {
		return cmp.Compare(boolInt(a.suffix == suffixLog), boolInt(b.suffix == suffixLog))
	})
	renamed := false
	for _, id := range swaps {
		if lowestCleaned != model.NoOffset && id.offset >= lowestCleaned {
			continue
		}
		if err := ld.env.FS.Rename(ld.dir.file(id.String()+suffixSwap), ld.dir.file(id.String())); err != nil {
			return err
		}
		info, err := ld.env.FS.Stat(ld.dir.file(id.String()))
		if err != nil {
			return err
		}
		ld.present[id], renamed = &listed{entry: fs.FileInfoToDirEntry(info)}, true
	}
	if !renamed {
		return nil
	}
	return ld.env.FS.SyncDir(ld.dir.path)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// removeCovered removes the segments whose offsets a swapped one holds. Snapshots stay: the producers are what they were,
// whatever the cleaner left of their batches.
func (ld *loader) removeCovered(swap fileID) error {
	end, err := ld.endOf(swap.String()+suffixSwap, swap.offset)
	if err != nil {
		return err
	}
	for id := range ld.present {
		// A segment of which nothing is left covers the one that it was made of all the same.
		if id.suffix != suffixSnapshot && id.offset >= swap.offset && (id.offset < end || id.offset == swap.offset) {
			if err := ld.dir.remove(id); err != nil {
				return err
			}
			delete(ld.present, id)
		}
	}
	return nil
}

// endOf walks over a file that is no segment yet to the offset after its last batch.
func (ld *loader) endOf(name string, base model.Offset) (model.Offset, error) {
	end := base
	f, err := ld.env.FS.Open(ld.dir.file(name), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	if err == nil {
		s := newScanner(f, base, 0, size)
		defer s.close()
		for err == nil {
			var b found
			if b, err = s.next(unchecked); err == nil {
				end = b.view.NextOffset()
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return end, errors.Join(err, f.Close())
}
