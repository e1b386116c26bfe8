package partitionlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// fileID names a file of a segment: twenty digits of an offset, a suffix, and a second one for what is not part of the
// log yet, or no more.
type fileID struct {
	offset model.Offset
	suffix suffix
	state  string // suffixDeleted, suffixCleaned, suffixSwap, or empty for what is
}

type suffix string

const (
	suffixLog       suffix = ".log"
	suffixIndex     suffix = ".index"
	suffixTimeIndex suffix = ".timeindex"
	suffixTxnIndex  suffix = ".txnindex"
	suffixSnapshot  suffix = ".snapshot"

	suffixDeleted = ".deleted"
	// suffixPrepared is for a producer snapshot that has still to be synced, with all before it.
	suffixPrepared = ".prepared"
	suffixCleaned  = ".cleaned"
	suffixSwap     = ".swap"

	offsetDigits = 20
)

func (id fileID) String() string {
	digits := strconv.FormatInt(int64(id.offset), 10)
	name := strings.Repeat("0", max(0, offsetDigits-len(digits))) + digits + string(id.suffix)
	return name + id.state
}

// parseFileID reads such a name, without a second suffix; false for any other.
func parseFileID(name string) (fileID, bool) {
	if len(name) <= offsetDigits || name[0] < '0' || name[0] > '9' {
		return fileID{}, false
	}
	offset, err := strconv.ParseInt(name[:offsetDigits], 10, 64)
	if err != nil {
		return fileID{}, false
	}
	id := fileID{offset: model.Offset(offset), suffix: suffix(name[offsetDigits:])}
	switch id.suffix {
	case suffixLog, suffixIndex, suffixTimeIndex, suffixTxnIndex, suffixSnapshot:
		return id, true
	}
	return fileID{}, false
}

// directory is the place of one log. Its path changes once, when the log is deleted; files may be opened from any
// goroutine meanwhile, by readers as well as by the lanes. Its lock is held while a file is opened or named: these calls
// go together, and only a move of the directory and a sync of its names exclude them.
type directory struct {
	fs vfs.FS

	mu   sync.RWMutex
	path string
	// exists is false for a log that was decided on in memory only.
	exists bool
	topic  model.TopicID // zero when there is no partition.metadata to be written
	// identifying is held while partition.metadata is written; identity tells how far that is.
	identifying sync.Mutex
	identity    atomic.Uint32
	// unsynced tells that names were made or removed in the directory, or the directory itself was made, and that a power
	// cut may undo it. It is set while mu is held, after the call, so that a sync misses neither.
	unsynced atomic.Bool
}

// How far partition.metadata is.
const (
	identityMissing uint32 = iota
	identityWritten
	identityDurable
)

// open, rename and remove hold the path still, but do not exclude each other.
func (d *directory) open(id fileID, flag int) (vfs.File, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	f, err := d.fs.Open(filepath.Join(d.path, id.String()), flag, 0o644)
	if flag&os.O_CREATE != 0 {
		d.unsynced.Store(true)
	}
	return f, err
}

func (d *directory) rename(from, to fileID) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	defer d.unsynced.Store(true)
	return d.fs.Rename(filepath.Join(d.path, from.String()), filepath.Join(d.path, to.String()))
}

// remove unlinks a file if it is there.
func (d *directory) remove(id fileID) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	defer d.unsynced.Store(true)
	if err := d.fs.Remove(filepath.Join(d.path, id.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removalMark stands in a directory while batches are removed, with their segments or from the end of one. A process that
// is killed before that is synced leaves a log that looks finished; were new batches written to it, a power cut could bring
// the old ones back among them. The mark has the next process sync first.
const removalMark = "removal-under-way"

// beginRemoval sets the mark before the first batch is removed. It needs no sync: after a power cut the files tell by
// themselves what is there. Prepared snapshots go first, since they promise batches that are about to be removed.
func (d *directory) beginRemoval() error {
	f, err := d.fs.Open(d.file(removalMark), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	names, err := d.fs.ReadDir(d.file(""))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, e := range names {
		if strings.HasSuffix(e.Name(), suffixPrepared) {
			if err := d.fs.Remove(d.file(e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// endRemoval takes the mark away when the end of the last segment has been synced.
func (d *directory) endRemoval() error {
	if err := d.fs.SyncDir(d.file("")); err != nil {
		return syncError{err}
	}
	return d.fs.Remove(d.file(removalMark))
}

// file is the path of a file that is not a segment's.
func (d *directory) file(name string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return filepath.Join(d.path, name)
}

// make creates the directory unless it is there.
func (d *directory) make() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exists {
		return nil
	}
	if err := d.fs.MkdirAll(d.path, 0o755); err != nil {
		return err
	}
	d.exists = true
	d.unsynced.Store(true)
	return nil
}

// prepare makes a directory that may take batches.
func (d *directory) prepare() error {
	if err := d.make(); err != nil {
		return err
	}
	return d.identify()
}

// identify writes partition.metadata if it is not there, and does not wait for the disk. It comes before the first batch:
// a log in a directory that does not say whose it is would be taken for that of whatever topic has the name.
func (d *directory) identify() error {
	if d.topic.IsZero() || d.identity.Load() != identityMissing {
		return nil
	}
	d.identifying.Lock()
	defer d.identifying.Unlock()
	if d.identity.Load() != identityMissing {
		return nil
	}
	if err := checkpoint.PlaceTopicID(d.fs, d.file(checkpoint.PartitionMetadata), d.topic); err != nil {
		return err
	}
	d.unsynced.Store(true)
	d.identity.Store(identityWritten)
	return nil
}

// syncIdentity makes what identify has written durable, but for its name. One that somebody took away is no error: the
// disk is not at fault.
func (d *directory) syncIdentity(path string) error {
	if d.identity.Load() != identityWritten {
		return nil
	}
	f, err := d.fs.Open(filepath.Join(path, checkpoint.PartitionMetadata), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// sync makes durable the names that were made since the last sync, and whose directory it is: without that a synced file may be gone after a
// power cut. The parent is synced too, since the directory may be as young as its first file.
func (d *directory) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.unsynced.Load() {
		return nil // most flushes end here
	}
	if err := errors.Join(d.syncIdentity(d.path), d.fs.SyncDir(d.path), d.fs.SyncDir(filepath.Dir(d.path))); err != nil {
		return syncError{err}
	}
	d.identity.CompareAndSwap(identityWritten, identityDurable)
	d.unsynced.Store(false)
	return nil
}

// claim takes it on the caller to make the names durable that were made so far; when that fails it has to disclaim.
func (d *directory) claim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unsynced.Store(false)
}

func (d *directory) disclaim() { d.unsynced.Store(true) }

// move renames the directory and goes on working there.
func (d *directory) move(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exists {
		if err := d.fs.Rename(d.path, path); err != nil {
			return err
		}
	}
	d.path = path
	return nil
}
