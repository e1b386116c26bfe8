package vfs

import (
	"io/fs"
	"syscall"
)

// Mortal is a disk as one simulated process sees it: what is left of the process after its end, since nobody takes its actors
// out of the order, changes nothing any more.
type Mortal struct {
	FS
	Gone func() bool
}

func (m Mortal) alive() error {
	if m.Gone() {
		return syscall.EIO
	}
	return nil
}

// Open is FS.Open until the process is gone; EIO then, as all others.
func (m Mortal) Open(name string, flag int, perm fs.FileMode) (File, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.FS.Open(name, flag, perm)
}

// MkdirAll is likewise.
func (m Mortal) MkdirAll(dir string, perm fs.FileMode) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.MkdirAll(dir, perm)
}

// Rename is likewise.
func (m Mortal) Rename(from, to string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.Rename(from, to)
}

// Remove is likewise.
func (m Mortal) Remove(name string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

// ReadDir is likewise.
func (m Mortal) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.FS.ReadDir(dir)
}
