package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge is that of a file longer than its reader allows.
var ErrTooLarge = errors.New("file is too large")

// ReadFile gives all of a file, in memory: of at most limit bytes, or the error is ErrTooLarge with name and size. Nothing is
// allocated before the size is known to be allowed.
func ReadFile(fsys FS, name string, limit int64) (data []byte, err error) {
	f, err := fsys.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, %d are allowed", ErrTooLarge, name, size, limit)
	}
	data = make([]byte, size)
	// A ReaderAt may tell the end of the file along with its last byte.
	if n, err := f.ReadAt(data, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(data)) {
		return nil, err
	}
	return data, nil
}
