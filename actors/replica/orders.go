package replica

import (
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Host asks a shard to run a replica. It is answered by Done when a new replica serves, or when the actor of an old one
// is there, whose log may still be opening.
type Host struct {
	Handle *Handle
	// Lead or Follow is the replica's first role; neither where the partition has no leader.
	Lead   *BecomeLeader
	Follow *BecomeFollower
	// Fresh says that this broker never had the partition: there is nothing to open.
	Fresh bool
	// The checkpoints of the directory, for a log that was there.
	RecoveryPoint, LogStart, HighWatermark, Cleaned model.Offset
	// Copy is a directory that gets the log's name first: a copy that was being moved, where the log is nowhere.
	Copy string
	// Clean and Kept say how the log was left (partitionlog.OpenParams).
	Clean, Kept bool
	// Opened is told when the log was opened, or could not be; nil for a fresh one. It only signals.
	Opened func(partitionlog.Recovery, error)
	Done   func() // called on an actor's goroutine
}

// Order passes a message on to a replica, or keeps in mind what it says for one that is not running yet.
type Order struct {
	Handle  *Handle
	Message kit.Message // BecomeLeader, BecomeFollower, Resign, Configure, or Altered for one that runs
}

// RecheckAll asks a shard to have its leaders judge anew who is in sync.
type RecheckAll struct{}

// Drop asks a shard to delete a replica and its files.
type Drop struct {
	Handle *Handle
	Unique model.UUID
}

// CloseAll asks a shard to close every log for a clean shutdown.
type CloseAll struct {
	Done func(failed int) // called once, when the last one is closed
}

// Pace is when maintenance comes round.
type Pace struct {
	First     time.Duration // log.initial.task.delay.ms
	Retention time.Duration // log.retention.check.interval.ms
	Producers time.Duration // producer.id.expiration.check.interval.ms
}

type (
	maintainDue struct{ round Maintain }
	// closed and removed are a replica's answers to Close and Delete.
	closed struct {
		hosted *hosted
		err    error
	}
	removed struct {
		handle  *Handle
		removal Removal
	}
	// cleared says that the last resort for files that Delete left behind has been tried.
	cleared struct{ handle *Handle }
	// unlinkDue is the end of file.delete.delay.ms.
	unlinkDue struct {
		handle *Handle
		dir    *disk.Dir // that the files are in
		path   string
		delay  time.Duration
	}
)

func (*Host) MessageKind() string        { return "shard.host" }
func (*Order) MessageKind() string       { return "shard.order" }
func (*RecheckAll) MessageKind() string  { return "shard.recheck-all" }
func (*Drop) MessageKind() string        { return "shard.drop" }
func (*CloseAll) MessageKind() string    { return "shard.close-all" }
func (*maintainDue) MessageKind() string { return "shard.maintain-due" }
func (*closed) MessageKind() string      { return "shard.closed" }
func (*removed) MessageKind() string     { return "shard.removed" }
func (*cleared) MessageKind() string     { return "shard.cleared" }
func (*unlinkDue) MessageKind() string   { return "shard.unlink-due" }

// Fail lets whoever waits go on: the partition answers with a retriable error.
func (m *Host) Fail(error) { m.Done() }

// Fail counts what the shard could not close.
func (m *CloseAll) Fail(error) { m.Done(1) }
