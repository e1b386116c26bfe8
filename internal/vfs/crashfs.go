package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"troupe/internal/clock"
)

// ErrPowerOff is what every call returns between a cut of the power and Crash.
var ErrPowerOff = errors.New("the power is off")

// CrashFS is a file system in memory that forgets, at Crash, what was not synced, as unkindly as POSIX allows: of the
// writes to a file since its last Sync a prefix survives, the next one torn, sectors of them may be lost before others;
// of the names in a directory since its last SyncDir a prefix is as it was changed. It also fails, shortens and holds
// calls. The same seed and calls give the same outcome. It is safe for concurrent use.
type CrashFS struct {
	mu       sync.Mutex
	random   *rand.Rand
	clock    clock.Clock
	root     *crashNode
	life     int // counts crashes: what is written within one is there to be read
	holders  int // counts the processes that had files open: handles of an earlier one are dead
	files    int // that were ever made
	off      bool
	cutAfter int // calls until the power fails, -1 for never
	hook     func(Call) Fault
	capacity int64 // in bytes of all files, -1 for no limit
}

// Call describes a call before it acts.
type Call struct {
	Op   Op
	Name string
	// Off and Len are the place and the number of bytes of a write.
	Off, Len int64
}

// Op names a call that changes something, or makes it durable.
type Op string

// The calls that a hook sees.
const (
	OpCreate  Op = "create"
	OpWrite   Op = "write"
	OpTrunc   Op = "truncate"
	OpSync    Op = "sync"
	OpSyncDir Op = "syncdir"
	OpSyncAll Op = "syncall"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpMkdir   Op = "mkdir"
)

// Fault is what a hook makes of a call. The zero Fault lets it pass.
type Fault struct {
	// Err is returned, and nothing is done, but that a write writes its first Bytes.
	Err   error
	Bytes int64
}

// NewCrashFS makes an empty file system.
func NewCrashFS(seed uint64, c clock.Clock) *CrashFS {
	return &CrashFS{
		random: rand.New(rand.NewPCG(seed, seed)), clock: c, root: newCrashDir(), cutAfter: -1, capacity: -1,
	}
}

// Hook sees every call that changes something from now on, on the caller's goroutine and without a lock, so that it may
// hold the call back. nil takes the hook away.
func (c *CrashFS) Hook(h func(Call) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = h
}

// Fill makes the disk full once all files together have so many bytes; -1 takes the limit away.
func (c *CrashFS) Fill(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.capacity = bytes
}

// CutAfter cuts the power within the n-th call from now that changes something.
func (c *CrashFS) CutAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutAfter = n
}

// Crash cuts the power, unless it is off already, forgets what was not durable, and turns the power on again. Open files
// and locks are gone.
func (c *CrashFS) Crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life++
	c.holders++
	c.off, c.cutAfter = false, -1
	c.root.crash(c.random)
}

// Exit ends the process that uses the files: its handles and locks are gone, and all that it wrote is there, as a kernel
// keeps it.
func (c *CrashFS) Exit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holders++
}

// Wipe is a new disk in place of the old one.
func (c *CrashFS) Wipe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life++
	c.holders++
	c.off, c.cutAfter = false, -1
	c.root = newCrashDir()
}

// begin is called at the start of every call, and asks the hook about those that change something.
func (c *CrashFS) begin(call Call) Fault {
	c.mu.Lock()
	hook := c.hook
	// The call that meets the cut may have got to the disk in part.
	if !c.off && c.cutAfter > 0 {
		if c.cutAfter--; c.cutAfter == 0 {
			c.off = true
			defer c.mu.Unlock()
			return Fault{Err: ErrPowerOff, Bytes: c.random.Int64N(call.Len + 1)}
		}
	}
	off := c.off
	c.mu.Unlock()
	switch {
	case off:
		return Fault{Err: ErrPowerOff}
	case hook != nil:
		return hook(call)
	}
	return Fault{}
}

// parts gives the names on the way to a file.
func parts(name string) []string {
	return strings.FieldsFunc(filepath.ToSlash(filepath.Join("/", name)), func(r rune) bool { return r == '/' })
}

// walk finds a node; it is called with mu held.
func (c *CrashFS) walk(op, name string) (*crashNode, error) {
	if c.off {
		return nil, &fs.PathError{Op: op, Path: name, Err: ErrPowerOff}
	}
	at := c.root
	for _, p := range parts(name) {
		next := at.names[p]
		if next == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		at = next
	}
	return at, nil
}

// parent finds the directory of a file and the file's name in it.
func (c *CrashFS) parent(op, name string) (*crashNode, string, error) {
	p := parts(name)
	if len(p) == 0 {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	dir, err := c.walk(op, strings.Join(p[:len(p)-1], "/"))
	if err == nil && dir.names == nil {
		err = &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	return dir, p[len(p)-1], err
}

// Open is FS's.
func (c *CrashFS) Open(name string, flag int, _ fs.FileMode) (File, error) {
	fault := Fault{}
	if flag&os.O_CREATE != 0 {
		fault = c.begin(Call{Op: OpCreate, Name: name})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault.Err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fault.Err}
	}
	dir, base, err := c.parent("open", name)
	if err != nil {
		return nil, err
	}
	n := dir.names[base]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case n == nil:
		c.files++
		n = &crashNode{modified: c.clock.Now(), number: c.files}
		dir.set(map[string]*crashNode{base: n})
	case flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case n.names != nil && flag&os.O_RDWR != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	case flag&os.O_TRUNC != 0:
		n.edit(edit{size: 0, truncate: true})
	}
	return &crashFile{fs: c, node: n, name: name, holder: c.holders}, nil
}

// MkdirAll is FS's.
func (c *CrashFS) MkdirAll(dir string, _ fs.FileMode) error {
	c.mu.Lock()
	_, err := c.walk("mkdir", dir)
	c.mu.Unlock()
	if err == nil {
		return nil
	}
	fault := c.begin(Call{Op: OpMkdir, Name: dir})
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault.Err != nil {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fault.Err}
	}
	at := c.root
	for _, p := range parts(dir) {
		next := at.names[p]
		if next == nil {
			next = newCrashDir()
			at.set(map[string]*crashNode{p: next})
		}
		if next.names == nil {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		at = next
	}
	return nil
}

// Rename is FS's. Within a directory it is one change; between two the power may fail after either.
func (c *CrashFS) Rename(oldName, newName string) error {
	fault := c.begin(Call{Op: OpRename, Name: oldName})
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault.Err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: fault.Err}
	}
	from, oldBase, err := c.parent("rename", oldName)
	if err != nil {
		return err
	}
	to, newBase, err := c.parent("rename", newName)
	if err != nil {
		return err
	}
	n := from.names[oldBase]
	if n == nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: fs.ErrNotExist}
	}
	// Both names change in one entry of a journal.
	if from == to {
		from.set(map[string]*crashNode{oldBase: nil, newBase: n})
		return nil
	}
	to.set(map[string]*crashNode{newBase: n})
	from.set(map[string]*crashNode{oldBase: nil})
	return nil
}

// Remove is FS's.
func (c *CrashFS) Remove(name string) error { return c.remove(name, false) }

// RemoveAll is FS's.
func (c *CrashFS) RemoveAll(name string) error {
	err := c.remove(name, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// remove takes the name away. An open file lives on under its handle, as on Unix; durable is the removal only after a sync
// of the directory, so a crash may bring the file back.
func (c *CrashFS) remove(name string, all bool) error {
	fault := c.begin(Call{Op: OpRemove, Name: name})
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault.Err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fault.Err}
	}
	dir, base, err := c.parent("remove", name)
	if err != nil {
		return err
	}
	switch n := dir.names[base]; {
	case n == nil:
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	case len(n.names) > 0 && !all:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
	}
	dir.set(map[string]*crashNode{base: nil})
	return nil
}

// ReadDir is FS's.
func (c *CrashFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.walk("readdir", dir)
	if err != nil {
		return nil, err
	}
	if n.names == nil {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: syscall.ENOTDIR}
	}
	var out []fs.DirEntry
	for name, child := range n.names {
		out = append(out, fs.FileInfoToDirEntry(child.info(name)))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Stat is FS's.
func (c *CrashFS) Stat(name string) (fs.FileInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.walk("stat", name)
	if err != nil {
		return nil, err
	}
	return n.info(filepath.Base(name)), nil
}

// SyncAll is FS's.
func (c *CrashFS) SyncAll(dir string) error {
	fault := c.begin(Call{Op: OpSyncAll, Name: dir})
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault.Err != nil {
		return &fs.PathError{Op: "syncfs", Path: dir, Err: fault.Err}
	}
	c.root.syncAll()
	return nil
}

// Era ends with each Crash.
func (c *CrashFS) Era(name string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.walk("statx", name)
	if err != nil {
		return "", err
	}
	return fmt.Sprint("life ", c.life, " file ", n.number), nil
}

// SyncDir is FS's.
func (c *CrashFS) SyncDir(dir string) error {
	fault := c.begin(Call{Op: OpSyncDir, Name: dir})
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault.Err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: fault.Err}
	}
	n, err := c.walk("sync", dir)
	if err != nil {
		return err
	}
	n.syncNames(len(n.changes))
	return nil
}

// Durable gives what a file holds that no crash can take any more, by a name that none can. Error: fs.ErrNotExist.
func (c *CrashFS) Durable(name string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.root
	for _, p := range parts(name) {
		next := at.durableNames[p]
		if next == nil {
			return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
		}
		at = next
	}
	return slices.Clone(at.durable), nil
}
