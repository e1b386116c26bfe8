package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// ErrLocked is returned by Lock when another process holds the file.
var ErrLocked = errors.New("the file is locked by another process")

// OS is the machine's file system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Open(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	// Files of a disk are never polled, so Fd's making the descriptor block changes nothing.
	return &osFile{File: f, fd: f.Fd()}, nil
}

func (osFS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }

func (osFS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) RemoveAll(name string) error { return os.RemoveAll(name) }

func (osFS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (osFS) SyncDir(dir string) error { return syncDir(dir) }

func (osFS) SyncAll(dir string) error { return syncAll(dir) }

func (osFS) Era(name string) (string, error) { return era(name) }

func (osFS) Usage(dir string) (total, free int64, err error) { return usage(dir) }

// Lock holds until the file is closed or the process ends, however it ends: a lock left behind by a crash locks nothing.
func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
	return f, nil
}

// osFile keeps the descriptor beside the os.File: Fd() takes a lock on every call.
type osFile struct {
	*os.File
	fd uintptr
}

// Size asks the system: the file may be written through another File.
func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Descriptor() (uintptr, bool) { return f.fd, true }

// fail names the file in an error of a bare system call.
func (f *osFile) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.Name(), Err: err}
}
