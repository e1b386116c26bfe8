package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: NTFS journals names, and a directory has no handle to flush without privileges.
func syncDir(string) error { return nil }

// lock covers the first byte of the file, which is enough: all who lock it do the same.
func lock(f *os.File) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

func usage(dir string) (total, free int64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, &os.PathError{Op: "usage", Path: dir, Err: err}
	}
	var freeForUs, all, freeInAll uint64
	if err := windows.GetDiskFreeSpaceEx(name, &freeForUs, &all, &freeInAll); err != nil {
		return 0, 0, &os.PathError{Op: "usage", Path: dir, Err: err}
	}
	return int64(all), int64(freeForUs), nil
}
