package partitionlog

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

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

// slot is one segment file, which the cache opens and closes as it likes while it is not pinned.
//
// Invariants: file is set exactly while pins is not closed; pins leaves closed and returns to it under mu only.
type slot struct {
	cache *FileCache
	dir   *directory
	id    fileID

	pins atomic.Int32 // closed, or the number of users of the open file
	used atomic.Bool  // since the hand came by
	gone atomic.Bool  // to be closed for good at the last unpin

	mu   sync.Mutex
	file vfs.File
	at   int // index in cache.open, under cache.mu
}

const closed = -1

func newSlot(c *FileCache, dir *directory, id fileID) *slot {
	s := &slot{cache: c, dir: dir, id: id}
	s.pins.Store(closed)
	return s
}

// use says what a pin is for.
type use uint8

const (
	useRead use = iota
	useAppend
	useCreate // an append to a file that is not there yet
)

// pin gives the open file until unpin. ErrStale says that the file was deleted.
func (s *slot) pin(u use) (vfs.File, error) {
	for {
		n := s.pins.Load()
		if n == closed {
			return s.openAndPin(u)
		}
		if s.pins.CompareAndSwap(n, n+1) {
			if !s.used.Load() {
				s.used.Store(true)
			}
			return s.file, nil
		}
	}
}

func (s *slot) openAndPin(u use) (vfs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins.Load() != closed {
		s.pins.Add(1) // another one opened it; it cannot be closed while mu is held
		return s.file, nil
	}
	if s.gone.Load() {
		return nil, ErrStale
	}
	if err := s.cache.room(u != useRead); err != nil {
		return nil, err
	}
	flag := os.O_RDWR
	if u == useCreate {
		flag |= os.O_CREATE
	}
	f, err := s.dir.open(s.id, flag)
	if err != nil {
		s.cache.descriptors.Give(vfs.ShareFiles)
		if errors.Is(err, fs.ErrNotExist) && u == useRead {
			return nil, errors.Join(ErrStale, err)
		}
		return nil, err
	}
	s.file = f
	s.cache.add(s)
	s.used.Store(true)
	s.pins.Store(1)
	return f, nil
}

// unpin ends one use.
func (s *slot) unpin() {
	if s.pins.Add(-1) == 0 && s.gone.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closeIfIdle()
	}
}

// forget closes the file for good, when its last user is done.
func (s *slot) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone.Store(true)
	s.closeIfIdle()
}

// closeIfIdle is called with mu held. The error of the close is dropped: what had to be safe was synced, and a failed
// close of a Linux file does not tell of earlier writes.
func (s *slot) closeIfIdle() bool {
	if !s.pins.CompareAndSwap(0, closed) {
		return false
	}
	_ = s.file.Close()
	s.file = nil
	s.cache.remove(s)
	s.cache.descriptors.Give(vfs.ShareFiles)
	return true
}

// rename moves the file while others may be using it.
func (s *slot) rename(to fileID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeIfIdle() // Windows renames no open file
	if err := s.dir.rename(s.id, to); err != nil {
		return err
	}
	s.id = to
	return nil
}

// deleted tells whether the file was renamed to await its removal.
func (s *slot) deleted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id.deleted
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
