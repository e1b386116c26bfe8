package partitionlog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// A log that is copied into another log directory grows there under the name "<topic>-<partition>.<32 hex>-future", as Kafka
// has it, and takes the log's name when it is whole. Between the two moments the former log loses its name, so that no start
// finds the name twice:
//
//	from: orders-0                     orders-0          orders-0.<hex>-delete   (removed later)
//	to:   orders-0.<hex>-future  ->  + the mark    ->    orders-0.<hex>-future   ->   orders-0
//
// A start that finds the name nowhere takes the future log that has the mark; where the name is there, it is the log.
const (
	futureSuffix = "-future"
	// wholeMark stands in a future log that had everything when the former log took its last batch. It counts only where the
	// name is in no log directory: with the former log there, that one may have taken more since.
	wholeMark = "future-is-whole"
)

// FutureName is the name of the directory of a log that is being moved.
func FutureName(tp model.TopicPartition, unique model.UUID) string {
	return tp.String() + "." + hex.EncodeToString(unique[:]) + futureSuffix
}

// ParseFuture gives the name that a future log is to have; false for any other directory.
func ParseFuture(name string) (of string, ok bool) {
	of, isFuture := strings.CutSuffix(name, futureSuffix)
	at := len(of) - 2*len(model.UUID{}) - 1
	if !isFuture || at <= 0 || of[at] != '.' {
		return "", false
	}
	if _, err := hex.DecodeString(of[at+1:]); err != nil {
		return "", false
	}
	return of[:at], true
}

// MarkWhole notes durably that a future log has everything. It blocks; so do the others.
func MarkWhole(fsys vfs.FS, dir string) error {
	f, err := fsys.Open(filepath.Join(dir, wholeMark), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), fsys.SyncDir(dir))
}

// Whole tells whether the mark is there.
func Whole(fsys vfs.FS, dir string) (bool, error) {
	_, err := fsys.Stat(filepath.Join(dir, wholeMark))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Unmark takes the mark away, if it is there.
func Unmark(fsys vfs.FS, dir string) error {
	err := fsys.Remove(filepath.Join(dir, wholeMark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// TakeName gives a whole future log, or what is there under the name already, its name for good.
func TakeName(fsys vfs.FS, future, dir string) error {
	if err := fsys.Rename(future, dir); err != nil {
		if _, there := fsys.Stat(dir); there != nil {
			return err
		}
	}
	return errors.Join(fsys.SyncDir(filepath.Dir(dir)), Unmark(fsys, dir))
}

// Move is a copy that was begun and is not whole.
type Move struct {
	Dir  string // the log directory
	Path string
	Of   string // the name of the log
}

// SettleMoves finishes, before a start looks for logs, what a crash left of moves between log directories, and gives those that
// may go on. Orphans are copies whose log is nowhere, and which are not whole: they are left alone.
func SettleMoves(fsys vfs.FS, dirs []string) (open, orphans []Move, err error) {
	names := map[string]bool{}
	var found []Move
	for _, dir := range dirs {
		entries, err := fsys.ReadDir(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			names[e.Name()] = true
			if of, ok := ParseFuture(e.Name()); ok {
				found = append(found, Move{dir, filepath.Join(dir, e.Name()), of})
			}
		}
	}
	for _, m := range found {
		whole, err := Whole(fsys, m.Path)
		switch {
		case err != nil:
			return nil, nil, err
		case names[m.Of]:
			open = append(open, m)
			err = Unmark(fsys, m.Path)
		case whole:
			names[m.Of] = true
			err = TakeName(fsys, m.Path, filepath.Join(m.Dir, m.Of))
		default:
			orphans = append(orphans, m)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return open, orphans, nil
}

// MoveTo gives the job that gives the log's directory another name, durably. The log is not Busy, and is so until it is done.
func (l *Log) MoveTo(dir string) *Job {
	l.begin()
	return &Job{Kind: KindBulk, task: &moveTask{l.dir, dir}}
}

type moveTask struct {
	dir *directory
	to  string
}

func (t *moveTask) run() error {
	if err := t.dir.move(t.to); err != nil {
		return fmt.Errorf("a moved log does not get its name: %w", err)
	}
	return errors.Join(t.dir.fs.SyncDir(filepath.Dir(t.to)), Unmark(t.dir.fs, t.to))
}

func (t *moveTask) done(l *Log, err error) {
	l.exclusive = false
	if err != nil {
		l.poison(err)
	}
}
