// Package vfs is the file system as the storage layer sees it, so that tests can cut the power, fill the disk and
// tear a write where production code runs on the machine's own.
//
// Durability is POSIX's weakest promise, and CrashFS holds callers to it: the bytes of a file are safe after Sync,
// its name (created, renamed or removed) only after SyncDir of the directory that holds it.
package vfs

import (
	"io"
	"io/fs"
)

// FS opens and names files. Errors are *fs.PathError or *os.LinkError around a syscall.Errno, so that errors.Is finds
// syscall.ENOSPC, syscall.EIO and fs.ErrNotExist. Implementations are safe for concurrent use.
type FS interface {
	// Open takes the flags of package os (O_RDONLY, O_RDWR, O_CREATE, O_EXCL, O_TRUNC).
	Open(name string, flag int, perm fs.FileMode) (File, error)
	MkdirAll(dir string, perm fs.FileMode) error
	// Rename replaces newName at once; which of the two names is there after a power cut is open until SyncDir.
	Rename(oldName, newName string) error
	Remove(name string) error
	RemoveAll(name string) error
	// ReadDir lists a directory by name.
	ReadDir(dir string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// SyncAll makes durable what was written and named before on the file system that holds dir, other programs' too;
	// errors.ErrUnsupported where the machine has no such call.
	SyncAll(dir string) error
	// Era names a file, whatever it is called, and the life of the page cache that holds it. While that is the same, everything
	// that was written there is there, synced or not, whatever became of the process that wrote it; and what was copied is
	// another file. "" where the machine cannot tell.
	Era(name string) (string, error)
	// Lock takes an exclusive lock on a file, which it creates, or fails at once with ErrLocked. The lock ends with
	// the process or with Close.
	Lock(name string) (io.Closer, error)
	// Usage tells the size of the file system that holds dir and the bytes free for us.
	Usage(dir string) (total, free int64, err error)
}

// File is one open file. Reads and writes give their offset, so one handle serves many goroutines.
type File interface {
	io.ReaderAt
	io.WriterAt
	// WriteVectorAt writes bufs one after the other from off on, in as few system calls as the kernel takes. It may
	// change the slices in bufs, not the bytes. It writes all or returns an error; n bytes are then in the file.
	WriteVectorAt(bufs [][]byte, off int64) (n int64, err error)
	// ReadAtCached reads only what needs no disk: cached is false when some of p would have to be read from it, and
	// n bytes of p are then filled. Where the machine cannot tell, it reads and says true.
	ReadAtCached(p []byte, off int64) (n int, cached bool, err error)
	// WillNeed has n bytes from off on brought into the page cache, and waits for nothing: a hint, without effect where the
	// machine takes none.
	WillNeed(off, n int64)
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the bytes, and the size needed to read them, durable.
	Sync() error
	// Allocate reserves the disk's blocks up to size without changing the file's size; where the machine cannot, it
	// does nothing.
	Allocate(size int64) error
	Close() error
	Name() string
	// Descriptor is for sendfile; ok is false for files that have none.
	Descriptor() (fd uintptr, ok bool)
}
