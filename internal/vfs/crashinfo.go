package vfs

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// Usage is FS's; without a limit the disk has 1 TiB.
func (c *CrashFS) Usage(string) (total, free int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total = c.capacity
	if total < 0 {
		total = 1 << 40
	}
	return total, max(0, total-c.root.bytes()), nil
}

// Lock is FS's.
func (c *CrashFS) Lock(name string) (io.Closer, error) {
	f, err := c.Open(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := f.(*crashFile).node
	// Locks do not outlive the process: one of an earlier one holds nothing.
	if n.lockedBy == c.holders+1 {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrLocked}
	}
	n.lockedBy = c.holders + 1
	return crashLock{c, n}, nil
}

// crashLock holds a file for the life of its process, or until it is closed.
type crashLock struct {
	fs   *CrashFS
	node *crashNode
}

func (l crashLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	l.node.lockedBy = 0
	return nil
}

// crashInfo is a file's description as of the call that asked for it.
type crashInfo struct {
	name     string
	size     int64
	dir      bool
	modified time.Time
}

func (i crashInfo) Name() string       { return i.name }
func (i crashInfo) Size() int64        { return i.size }
func (i crashInfo) IsDir() bool        { return i.dir }
func (i crashInfo) ModTime() time.Time { return i.modified }
func (i crashInfo) Sys() any           { return nil }

func (i crashInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
