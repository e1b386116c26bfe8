package partitionlog

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"troupe/internal/vfs"
)

// slot is one segment file, which the cache opens and closes as it likes while it is not pinned.
//
// Invariants:
//  1. file is set exactly while pins is not closed; pins leaves closed and returns to it under mu only. So whoever has
//     raised pins may use file without mu.
//  2. A slot whose file is open holds one descriptor of ShareFiles and stands in cache.open.
//  3. Locks are taken in this order: mu, then the directory's, then the cache's. A second slot's mu is only tried.
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
	// An open file is pinned without a lock. The mark of use is looked at before it is set, since a write would take the
	// cache line from the other readers.
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

// besides are the files that a segment may have beside its log.
var besides = []suffix{suffixIndex, suffixTimeIndex, suffixTxnIndex}

// rename gives all files of the segment another state while others may be using them, and lists the new names. Whoever
// opens one of them meanwhile waits.
func (s *slot) rename(state string) (files []fileID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeIfIdle() // Windows renames no open file
	// The log goes first: an index that a crash leaves without it is an orphan, which Open removes.
	before := s.id
	for _, x := range append([]suffix{suffixLog}, besides...) {
		from, to := before, before
		from.suffix, to.suffix, to.state = x, x, state
		if err := s.dir.rename(from, to); err != nil && (x == suffixLog || !errors.Is(err, fs.ErrNotExist)) {
			return files, err
		}
		s.id.state = state
		files = append(files, to)
	}
	return files, nil
}

// beside names another file of the segment; gone tells that the segment's files are, or may be those of another.
func (s *slot) beside(x suffix) (id fileID, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = s.id
	id.suffix = x
	return id, s.gone.Load()
}

// errRenamed: another name has to be tried.
var errRenamed = errors.New("the file was renamed")

// readBeside opens another file of the segment for one piece of work. ErrStale says that it was removed.
func (s *slot) readBeside(x suffix, work func(vfs.File) error) error {
	for {
		id, gone := s.beside(x)
		if gone {
			return ErrStale
		}
		err := s.cache.once(s.dir, id, os.O_RDONLY, func(f vfs.File) error {
			// A file that was set aside meanwhile may have left its name to the one that a cleaner made of it.
			if now, gone := s.beside(x); gone || now != id {
				return errRenamed
			}
			return work(f)
		})
		now, _ := s.beside(x)
		switch {
		case errors.Is(err, errRenamed), errors.Is(err, fs.ErrNotExist) && now != id:
		case errors.Is(err, fs.ErrNotExist):
			return errors.Join(ErrStale, err)
		default:
			return err
		}
	}
}
