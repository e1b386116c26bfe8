// Package disk holds the actors that may wait for a disk. A log directory has several lanes, so that a slow fsync, a
// cold read or an unlink never stands before an append; work goes in as a message and its completion comes back as one.
package disk

import (
	"errors"
	"hash/maphash"
	"sync/atomic"
	"syscall"

	"troupe/actors/kit"
	"troupe/internal/histogram"
	"troupe/internal/invariant"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Kind names what a lane is for.
type Kind string

// The lanes of a directory. Append, Cold and Bulk are sharded by partition, Cleaner lanes are children of the cleaner,
// of the others there is one. Thousands of directories that are made side by side would take the processor from all that is
// urgent.
const (
	Metadata Kind = "metadata" // the metadata log and raft's hard state
	Append   Kind = "append"   // log writes
	Fsync    Kind = "fsync"    // flushes asked for by a policy, and those of rolled segments
	Cold     Kind = "cold"     // reads of bytes that are not in the page cache
	Create   Kind = "create"   // the directories of new logs
	Bulk     Kind = "bulk"     // recovery, deletes, checkpoints
	Cleaner  Kind = "cleaner"  // compaction, which may take as long as it likes
)

// ErrFenced answers work for a directory that failed an fsync or a read. After a failed fsync the kernel may have
// dropped the dirty pages and report success later, so nothing is retried.
var ErrFenced = errors.New("log directory is offline after an I/O error")

// Dir is a log directory and the lanes that serve it. It is shared by reference and safe for concurrent use.
type Dir struct {
	Path string
	ID   model.DirectoryID
	Env  *partitionlog.Env
	// Writes times the coalesced writes of the append lanes, Flushes the fsyncs of partition logs.
	Writes, Flushes histogram.Histogram
	Checkpoints     *Checkpoints
	// Cleaning tells of the directory's cleaner.
	Cleaning Cleaning

	metadata, fsync     kit.Ref
	create              kit.Ref
	appends, cold, bulk []kit.Ref // sharded by partition
	seed                maphash.Seed
	onFence             kit.Ref
	failure             atomic.Pointer[error]
	putOff              atomic.Bool
	refused             atomic.Int64
	short               atomic.Bool // nothing was appended since something was refused
}

// ErrPutOff answers work that is left to the next start.
var ErrPutOff = errors.New("put off to the next start")

// PutOff leaves to the next start what is Deferrable: a broker that stops in order does not wait for thousands of unlinks.
func (d *Dir) PutOff() { d.putOff.Store(true) }

// Refused counts the work that was refused for want of room or of descriptors, since the start.
func (d *Dir) Refused() int64 { return d.refused.Load() }

// Short tells that nothing was appended since work was refused.
func (d *Dir) Short() bool { return d.short.Load() }

// AppendLane gives the lane that writes tp's log: always the same one, so that a log's writes stay in order.
func (d *Dir) AppendLane(tp model.TopicPartition) kit.Ref {
	return shard(d.appends, d.seed, tp)
}

// BulkLane gives the lane that opens, cuts and removes tp's log: always the same one, so that a topic that comes back
// under its name finds the old directory gone.
func (d *Dir) BulkLane(tp model.TopicPartition) kit.Ref {
	return shard(d.bulk, d.seed, tp)
}

// ColdLane gives the lane that reads what tp's readers wait for.
func (d *Dir) ColdLane(tp model.TopicPartition) kit.Ref {
	return shard(d.cold, d.seed, tp)
}

// shard keeps a partition on one lane, which keeps its jobs in order.
func shard(lanes []kit.Ref, seed maphash.Seed, tp model.TopicPartition) kit.Ref {
	return lanes[maphash.Comparable(seed, tp)%uint64(len(lanes))]
}

// Lane gives the one lane of a kind that is not sharded.
func (d *Dir) Lane(k Kind) kit.Ref {
	switch k {
	case Metadata:
		return d.metadata
	case Fsync:
		return d.fsync
	case Create:
		return d.create
	default:
		invariant.Check(false, "lane %q is sharded by partition", k)
		return kit.Ref{}
	}
}

// LaneFor gives the lane that a log's job belongs to.
func (d *Dir) LaneFor(j *partitionlog.Job, tp model.TopicPartition) kit.Ref {
	switch j.Kind {
	case partitionlog.KindAppend:
		return d.AppendLane(tp)
	case partitionlog.KindFsync:
		return d.fsync
	case partitionlog.KindCreate:
		return d.create
	default:
		return d.BulkLane(tp)
	}
}

// Err is nil while the directory is healthy.
func (d *Dir) Err() error {
	if p := d.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// fence marks the directory failed; only the first failure counts.
func (d *Dir) fence(err error) (first bool) {
	return d.failure.CompareAndSwap(nil, &err)
}

// fatal tells whether err says that the device, not one file or the free space, is at fault. A sync that failed is
// fatal whatever its reason.
func fatal(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EROFS) || partitionlog.SyncFailed(err)
}
