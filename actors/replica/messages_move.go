package replica

import (
	"time"

	"troupe/actors/disk"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Freeze asks a replica to take nothing in until a Swap, for so long at the most: what it has is to be copied to another log
// directory to the last batch. Done is called on the actor's goroutine when nothing of the log is under way any more.
type Freeze struct {
	Within time.Duration
	Done   func(end model.Offset, err error)
}

// Thaw ends a Freeze: no Swap will follow.
type Thaw struct{}

// Swap puts a copy of the log in its place: Log, which lies in To under the name of a future log, is idle, synced, marked as
// whole, and ends where the replica was frozen. Done is called once, on the actor's goroutine: with nil the log is the
// replica's, with an error it is nobody's.
type Swap struct {
	Log    *partitionlog.Log
	To     *disk.Dir
	Unique model.UUID // names the former log's directory until its files are unlinked
	Done   func(error)
}

// Future is the copy of a replica that is being moved to another log directory, as of its last batch.
type Future struct {
	Dir  *disk.Dir
	End  model.Offset
	Size int64 // bytes
	// Assigned is set while the metadata is to name the copy's directory as the replica's.
	Assigned bool
	// Naming is set while the copy may get the log's name: the checkpoints of its directory speak of it.
	Naming bool
}

type (
	// freezeOver ends a Freeze of which nothing was heard any more.
	freezeOver struct{ freeze *Freeze }
	// foundName answers whether a log still has its name in the directory from which it was being moved.
	foundName struct {
		incarnation uint32
		there       bool
		err         error
	}
	// movedAway tells the shard of files that a moved log left behind.
	movedAway struct {
		handle *Handle
		dir    *disk.Dir
		path   string
	}
)

func (*Freeze) MessageKind() string     { return "replica.freeze" }
func (*Swap) MessageKind() string       { return "replica.swap" }
func (*Thaw) MessageKind() string       { return "replica.thaw" }
func (*freezeOver) MessageKind() string { return "replica.freeze-over" }
func (*foundName) MessageKind() string  { return "replica.found-name" }
func (*movedAway) MessageKind() string  { return "shard.moved-away" }

// Fail has the mover try again.
func (m *Freeze) Fail(err error) { m.Done(model.NoOffset, err) }

// Fail has the mover try again: the replica finds out by the files where its log is.
func (m *Swap) Fail(err error) { m.Done(err) }
