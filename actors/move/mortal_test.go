package move

import (
	"io/fs"
	"syscall"

	"troupe/internal/vfs"
)

// mortal is a disk as one process sees it: what is left of the process after its end, since nobody takes its actors out of
// the order, changes nothing any more.
type mortal struct {
	vfs.FS
	p *life
}

func (m mortal) alive() error {
	if m.p.gone {
		return syscall.EIO
	}
	return nil
}

func (m mortal) Open(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.FS.Open(name, flag, perm)
}

func (m mortal) MkdirAll(dir string, perm fs.FileMode) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.MkdirAll(dir, perm)
}

func (m mortal) Rename(from, to string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.Rename(from, to)
}

func (m mortal) Remove(name string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

func (m mortal) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.FS.ReadDir(dir)
}
