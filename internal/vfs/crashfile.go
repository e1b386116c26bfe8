package vfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// crashFile is an open file of a CrashFS.
type crashFile struct {
	fs     *CrashFS
	node   *crashNode
	name   string
	holder int
	closed bool
}

func (f *crashFile) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// alive is called with the lock held.
func (f *crashFile) alive(op string) error {
	switch {
	case f.fs.off:
		return f.fail(op, ErrPowerOff)
	case f.holder != f.fs.holders:
		return f.fail(op, syscall.EIO)
	case f.closed:
		return f.fail(op, fs.ErrClosed)
	}
	return nil
}

func (f *crashFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.alive("read"); err != nil {
		return 0, err
	}
	// As os.File has it: at the end, and for a read that reaches past it, io.EOF.
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// ReadAtCached finds everything in memory.
func (f *crashFile) ReadAtCached(p []byte, off int64) (int, bool, error) {
	n, err := f.ReadAt(p, off)
	return n, true, err
}

func (f *crashFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.write([][]byte{p}, off)
	return int(n), err
}

func (f *crashFile) WriteVectorAt(bufs [][]byte, off int64) (int64, error) { return f.write(bufs, off) }

// write records the edit beside the data: Crash keeps those that were synced and a part of the others. The hook is called
// before the lock is taken, since it may hold the write back while others go on.
func (f *crashFile) write(bufs [][]byte, off int64) (int64, error) {
	// The caller may use its buffers again, while the edit is kept until the next sync.
	data := slices.Concat(bufs...)
	fault := f.fs.begin(Call{Op: OpWrite, Name: f.name, Off: off, Len: int64(len(data))})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.holder != f.fs.holders || f.closed {
		return 0, f.alive("write")
	}
	err := fault.Err
	if err != nil {
		// A write that fails may have written its beginning.
		data = data[:min(max(fault.Bytes, 0), int64(len(data)))]
	}
	// Like a kernel: what fits is written, and the rest fails.
	if room := f.room(off, len(data)); room < len(data) {
		data, err = data[:room], syscall.ENOSPC
	}
	if len(data) > 0 {
		f.node.edit(edit{off: off, data: data})
		f.node.modified = f.fs.clock.Now()
	}
	if err != nil {
		return int64(len(data)), f.fail("write", err)
	}
	return int64(len(data)), nil
}

// room is how much of a write the disk takes.
func (f *crashFile) room(off int64, n int) int {
	if f.fs.capacity < 0 {
		return n
	}
	free := max(0, f.fs.capacity-f.fs.root.bytes())
	return int(min(int64(n), max(0, int64(len(f.node.data))-off)+free))
}

// WillNeed has nothing to bring in.
func (f *crashFile) WillNeed(int64, int64) {}

func (f *crashFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.node.data)), f.alive("stat")
}

// Truncate is an edit like a write: it is gone with the power unless it was synced.
func (f *crashFile) Truncate(size int64) error {
	fault := f.fs.begin(Call{Op: OpTrunc, Name: f.name, Off: size})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if fault.Err != nil {
		return f.fail("truncate", fault.Err)
	}
	if err := f.alive("truncate"); err != nil {
		return err
	}
	f.node.edit(edit{size: size, truncate: true})
	return nil
}

// Sync makes the edits of this file durable; its name in the directory is SyncDir's.
func (f *crashFile) Sync() error {
	fault := f.fs.begin(Call{Op: OpSync, Name: f.name})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if fault.Err != nil {
		return f.fail("sync", fault.Err)
	}
	if err := f.alive("sync"); err != nil {
		return err
	}
	f.node.sync()
	return nil
}

// Allocate has no effect in memory.
func (f *crashFile) Allocate(int64) error { return nil }

func (f *crashFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return f.fail("close", fs.ErrClosed)
	}
	f.closed = true
	return nil
}

func (f *crashFile) Name() string { return f.name }

// Descriptor: there is none, so bytes take the way that every platform has.
func (f *crashFile) Descriptor() (uintptr, bool) { return 0, false }
