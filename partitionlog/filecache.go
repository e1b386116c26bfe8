package partitionlog

import (
	"errors"
	"os"
	"sync"

	"troupe/internal/vfs"
)

// FileCache opens segment files when they are needed and closes the ones not used lately when the broker's share of
// descriptors is used up. It is safe for concurrent use.
type FileCache struct {
	fs          vfs.FS
	descriptors *vfs.Descriptors

	mu   sync.Mutex
	open []*slot // in no order; the hand goes round
	hand int
}

// appendReserve is how many descriptors readers leave to appends: pins of readers live as long as their clients take
// to receive, while appends need one for each lane at a time.
const appendReserve = 32

// NewFileCache makes a cache that takes its descriptors from ShareFiles.
func NewFileCache(fsys vfs.FS, d *vfs.Descriptors) *FileCache {
	return &FileCache{fs: fsys, descriptors: d}
}

// room takes a descriptor, closing an idle file when there is none left.
func (c *FileCache) room(urgent bool) error {
	for {
		used, limit := c.descriptors.Used(vfs.ShareFiles)
		if (urgent || used < limit-min(appendReserve, limit/4)) && c.descriptors.Take(vfs.ShareFiles) {
			return nil
		}
		if !c.closeOne() {
			return vfs.ErrNoDescriptor
		}
	}
}

// closeOne closes the first idle file that was not used since the hand last passed it.
func (c *FileCache) closeOne() bool {
	// Two rounds: the first may do no more than clear the marks of use.
	for range 2 * c.Open() {
		c.mu.Lock()
		if len(c.open) == 0 {
			c.mu.Unlock()
			return false
		}
		c.hand = (c.hand + 1) % len(c.open)
		s := c.open[c.hand]
		c.mu.Unlock()
		// Waiting for the lock might be waiting for a disk, or for ourselves: the opener holds the lock of its own slot.
		if s.used.Swap(false) || !s.mu.TryLock() {
			continue
		}
		done := s.closeIfIdle()
		s.mu.Unlock()
		if done {
			return true
		}
	}
	return false
}

// Open is the number of files that are open.
func (c *FileCache) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *FileCache) add(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.at = len(c.open)
	c.open = append(c.open, s)
}

func (c *FileCache) remove(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.open[len(c.open)-1]
	c.open[s.at] = last
	last.at = s.at
	c.open[len(c.open)-1] = nil
	c.open = c.open[:len(c.open)-1]
}

// once opens a small file for one piece of work.
func (c *FileCache) once(dir *directory, id fileID, flag int, work func(vfs.File) error) error {
	if err := c.room(flag&os.O_RDWR != 0); err != nil {
		return err
	}
	defer c.descriptors.Give(vfs.ShareFiles)
	f, err := dir.open(id, flag)
	if err != nil {
		return err
	}
	return errors.Join(work(f), f.Close())
}
