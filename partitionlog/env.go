// Package partitionlog keeps the records of one partition in files of Kafka's format
// (docs/formats/partition-directory.md): segments with sparse indexes, leader epochs, producer state, retention,
// truncation and recovery.
//
// A Log has one owner, which calls its methods one at a time and never waits for a disk in them: they decide in memory,
// and what is to be read or written comes as a Job. Jobs run elsewhere, in the order they were made for each kind,
// and the owner gives their outcome back with Done. Everybody else reads through an immutable View.
package partitionlog

import "troupe/internal/vfs"

// File is what a Region points into.
type File = vfs.File

// Env is shared by all logs of a broker.
type Env struct {
	FS    vfs.FS
	Files *FileCache
	Index *IndexBudget
	Dirty *DirtyBudget
}

// Budgets of a broker.
const (
	indexMemory = 32 << 20
	dirtyBytes  = 2 << 30
)

// NewEnv makes budgets of the sizes that a broker uses.
func NewEnv(fsys vfs.FS, d *vfs.Descriptors) *Env {
	return &Env{
		FS: fsys, Files: NewFileCache(fsys, d), Index: NewIndexBudget(indexMemory), Dirty: NewDirtyBudget(dirtyBytes),
	}
}
