package replica

import (
	"errors"
	"time"

	"troupe/actors/kit"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
	"troupe/partitionlog/producer"
)

// ErrStarting fails a message to a replica whose actor is not there: not yet, or no more.
var ErrStarting = errors.New("replica is not running")

// Append asks the leader to append one batch. The sink keeps the batch's bytes alive until AppendDone.
type Append struct {
	Batch    batch.View
	AllAcks  bool // wait until the high watermark has passed the batch
	Version  int16
	Deadline time.Time // of the wait for the high watermark
	Sink     AppendSink
	Index    int // the sink's name for this batch
	// Coordinator marks a batch of the coordinator whose state this partition holds. It has loaded the log under
	// LeaderEpoch, and has counted on Base as the batch's offset. At any other epoch or offset the batch is answered as
	// uncertain: the log may have what the coordinator does not know.
	Coordinator bool
	LeaderEpoch model.LeaderEpoch
	Base        model.Offset

	taken bool // the machine has it: a panic is answered by the instance that had it
}

// AppendSink is told once for each Append. It runs on the replica's goroutine: it only signals.
type AppendSink interface {
	AppendDone(index int, r AppendResult)
}

// AppendResult is the partition's part of a Produce reply.
type AppendResult struct {
	Code          kerr.Code
	Message       string
	BaseOffset    model.Offset
	LogAppendTime int64 // -1 unless message.timestamp.type is LogAppendTime
	LogStart      model.Offset
	LeaderEpoch   model.LeaderEpoch
	// Replicating is how long the batch waited for followers after the leader had written it, for acks=all.
	Replicating time.Duration
	// BytesHeld says that the batch may still be read by a disk lane: the answer comes before the write's end.
	BytesHeld bool
	// Refused says beside an error that nothing of the batch is in the log, nor will be.
	Refused bool
}

// Watch asks to be told when committed data appears beyond what the watcher has seen, or, for a follower, any data.
type Watch struct {
	Watcher Watcher
	Key     uint32 // the watcher's name for this partition
	Seen    model.Offset
	// ToEnd says that Seen is a log end, and the calls come when that moves too.
	ToEnd bool
	// Once removes the watch after the first call.
	Once bool
}

// Unwatch ends a Watch.
type Unwatch struct {
	Watcher Watcher
	Key     uint32
}

// Watcher is told that a partition changed: its high watermark or log start moved, its role or state changed, or it
// went away. It runs on the replica's goroutine: it only signals, or leaves to the turn, which may be nil, what it has to do.
// It must be comparable.
type Watcher interface {
	Changed(t *kit.Turn, key uint32)
	// Unwatched is told instead of a Watch that the replica did not take, as its actor does not run yet: nothing will be called.
	Unwatched(key uint32)
}

// BecomeLeader makes the replica lead at an epoch.
type BecomeLeader struct {
	LeaderEpoch    model.LeaderEpoch
	PartitionEpoch model.PartitionEpoch
	ISR            []model.BrokerID
	Replicas       []model.BrokerID
}

// Resign ends the replica's role without a leader being known here.
type Resign struct{}

// Configure replaces the topic's configuration.
type Configure struct{ Config *Config }

// Delete closes the log and takes its directory away from the topic's name; the actor stops. Done is called once, on an
// actor's goroutine. Unique names the directory until its files are unlinked.
type Delete struct {
	Unique model.UUID
	Done   func(Removal)
}

// Removal says where the files of a deleted log stand. With an error they still have the topic's name.
type Removal struct {
	Path string
	Err  error
}

// Close flushes and closes the log for a clean shutdown; the actor stops. Done is called once.
type Close struct{ Done func(error) }

// DeleteRecords moves the log start offset to Before, or to the high watermark when Before is -1, and waits for the followers
// that live to do the same until Deadline. Both functions are called on the actor's goroutine.
type DeleteRecords struct {
	Before   model.Offset
	Deadline time.Time
	Waits    func(low model.Offset) // called when it is done here, if followers are waited for
	Done     func(low model.Offset, code kerr.Code)
}

// DescribeProducers asks for the producer states.
type DescribeProducers struct {
	Done func([]producer.Entry, kerr.Code) // called on the actor's goroutine
}

// Maintain is a round of what time alone brings. The shard sends it.
type Maintain struct {
	Retention bool // delete what retention.ms and retention.bytes let go, and hand in background work
	Producers bool // forget producers that were idle for producer.id.expiration.ms
}

// opened is the bulk lane's answer to opening the log.
type opened struct {
	aside       string // where a directory of another topic id went
	log         *partitionlog.Log
	err         error
	recovery    partitionlog.Recovery
	incarnation uint32
}

// expire is the timer of the earliest waiting append.
type expire struct{}

// flushDue is the timer of flush.ms; reopenDue ends the rest that a full disk is given.
type (
	flushDue  struct{}
	reopenDue struct{}
)

func (*Append) MessageKind() string            { return "replica.append" }
func (*Watch) MessageKind() string             { return "replica.watch" }
func (*Unwatch) MessageKind() string           { return "replica.unwatch" }
func (*BecomeLeader) MessageKind() string      { return "replica.become-leader" }
func (*Resign) MessageKind() string            { return "replica.resign" }
func (*Configure) MessageKind() string         { return "replica.configure" }
func (*Delete) MessageKind() string            { return "replica.delete" }
func (*Close) MessageKind() string             { return "replica.close" }
func (*DeleteRecords) MessageKind() string     { return "replica.delete-records" }
func (*DescribeProducers) MessageKind() string { return "replica.describe-producers" }
func (*Maintain) MessageKind() string          { return "replica.maintain" }
func (*opened) MessageKind() string            { return "replica.opened" }
func (*expire) MessageKind() string            { return "replica.expire" }
func (*flushDue) MessageKind() string          { return "replica.flush-due" }
func (*reopenDue) MessageKind() string         { return "replica.reopen-due" }

// Fail answers with a code that makes the client look up the leader and try again.
func (m *Append) Fail(error) {
	if m.taken {
		return
	}
	m.Sink.AppendDone(m.Index, AppendResult{Code: kerr.NotLeaderOrFollower, BaseOffset: model.NoOffset, LogAppendTime: -1, LogStart: model.NoOffset, Refused: true})
}

// Fail tells the watcher that nobody watches for it.
func (m *Watch) Fail(error) { m.Watcher.Unwatched(m.Key) }

// Fail answers as for a leader that moved.
func (m *DeleteRecords) Fail(error) { m.Done(model.NoOffset, kerr.NotLeaderOrFollower) }

// Fail answers as for a leader that moved.
func (m *DescribeProducers) Fail(error) { m.Done(nil, kerr.NotLeaderOrFollower) }

// Fail leaves the directory to the shard. The actor is gone, or does it in its next incarnation.
func (m *Delete) Fail(err error) { m.Done(Removal{Err: err}) }

// Fail reports a log that was not closed.
func (m *Close) Fail(err error) { m.Done(err) }
