package checkpoint

import (
	"fmt"
	"strconv"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// LeaderEpochs is the file of a partition's Epochs: one line "epoch start" an entry, both rising.
const LeaderEpochs = "leader-epoch-checkpoint"

// ReadEpochs reads the leader epochs of a partition. No file is no entry: it comes with the first batch.
func ReadEpochs(fsys vfs.FS, name string) (Epochs, error) {
	data, err := read(fsys, name)
	if absent(err) {
		return Epochs{}, nil
	}
	if err != nil {
		return Epochs{}, err
	}
	return parseEpochs(name, data)
}

// WriteEpochs replaces the file.
func WriteEpochs(fsys vfs.FS, name string, e Epochs) error {
	return Replace(fsys, name, appendEpochs(nil, e))
}

// PrepareEpochs and PlaceEpochs are WriteEpochs for a caller that syncs the whole file system between the two, and again
// before anything relies on the file.
func PrepareEpochs(fsys vfs.FS, name string, e Epochs) error {
	return writeNew(fsys, name+suffixNew, appendEpochs(nil, e), false)
}

// PlaceEpochs puts what was prepared in the file's place.
func PlaceEpochs(fsys vfs.FS, name string) error { return fsys.Rename(name+suffixNew, name) }

// parseEpochs holds the file to the invariants of Epochs: End would answer nonsense to a follower otherwise, and it
// would truncate what it should keep.
func parseEpochs(name string, data []byte) (Epochs, error) {
	var e Epochs
	err := parseLines(name, data, 2, func(fields []string) error {
		epoch, err := parseNumber("epoch", fields[0], 32)
		if err != nil {
			return err
		}
		start, err := parseNumber("start offset", fields[1], 64)
		if err != nil {
			return err
		}
		entry := Epoch{model.LeaderEpoch(epoch), model.Offset(start)}
		if last, ok := e.Latest(); ok && (entry.Epoch <= last.Epoch || entry.Start <= last.Start) {
			return fmt.Errorf("epoch %d at %d does not follow epoch %d at %d", entry.Epoch, entry.Start, last.Epoch, last.Start)
		}
		e.entries = append(e.entries, entry)
		return nil
	})
	if err != nil {
		return Epochs{}, err
	}
	return e, nil
}

func appendEpochs(dst []byte, e Epochs) []byte {
	dst = appendFrame(dst, len(e.entries))
	for _, x := range e.entries {
		dst = strconv.AppendInt(dst, int64(x.Epoch), 10)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, int64(x.Start), 10)
		dst = append(dst, '\n')
	}
	return dst
}
