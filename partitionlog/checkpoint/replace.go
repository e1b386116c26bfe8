// Package checkpoint reads and writes the small files that stand beside the logs: offset checkpoints, the leader epochs
// of a partition, partition.metadata, meta.properties, the mark of a clean shutdown and quorum-state. All are Kafka's own
// formats (facts/storage-format.md 1 and 2; docs/formats/checkpoints.md draws them).
//
// Writers give way to nothing in between: a reader, after any power cut, finds the file as it was before or as it is
// after. Readers take a malformed file for damage and say where, as a *FormatError; what absence means depends on the
// file and is said at each reader.
package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"troupe/internal/vfs"
)

// FormatError says what is wrong in a file.
type FormatError struct {
	File   string
	Line   int // from 1; 0 when the fault is not in one line
	Reason string
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s, line %d: %s", e.File, e.Line, e.Reason)
}

// maxSize bounds what is read into memory. The largest honest file is an offset checkpoint: 10,000 partitions with
// names of 249 characters take less than 3 MiB.
const maxSize = 64 << 20

// Replace puts data in the place of the named file, at once and for good: it is written beside it as name.tmp and
// synced, renamed over it, and the directory is synced. After an error the old file is still there, or the new one. One
// file is replaced by one caller at a time.
func Replace(fsys vfs.FS, name string, data []byte) error {
	tmp := name + suffixNew
	if err := writeNew(fsys, tmp, data, true); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

const suffixNew = ".tmp"

func writeNew(fsys vfs.FS, name string, data []byte, sync bool) (err error) {
	f, err := fsys.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(data, 0); err != nil || !sync {
		return err
	}
	return f.Sync()
}

// read returns the whole file; the error is fs.ErrNotExist when there is none.
func read(fsys vfs.FS, name string) ([]byte, error) {
	data, err := vfs.ReadFile(fsys, name, maxSize)
	if errors.Is(err, vfs.ErrTooLarge) {
		return nil, &FormatError{File: name, Reason: err.Error()}
	}
	return data, err
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
