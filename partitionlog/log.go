package partitionlog

import (
	"fmt"

	"troupe/codec/kerr"
	"troupe/internal/invariant"
	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
	"troupe/partitionlog/producer"
)

// Log is one partition's log. Its methods are for its owner and never touch a disk; see the package comment.
//
// Invariants, kept by Stage, Done and the tasks:
//  1. LogStart <= LastStable <= HighWatermark <= LogEnd <= StagedEnd, and RecoveryPoint <= Flushed <= LogEnd.
//  2. Segments rise by base; their offsets do not overlap; only the last one grows.
//  3. Appends are staged, written and done in one order, so that what is written is a prefix of what is staged.
//  4. After the first failed write or sync nothing is written any more.
type Log struct {
	env   *Env
	tp    model.TopicPartition
	topic model.TopicID
	cfg   Config
	dir   *directory

	content

	// What is under way; see Busy.
	outstanding int   // appends staged and not done
	flushing    int   // Flush jobs not done
	exclusive   bool  // a truncation, close or deletion is under way, or has ended the log
	failed      error // wraps ErrPoisoned
	broken      *failure
	creation    creation
	maintenance maintenance
	removals    []removal
	renaming    bool // retention or a cleaner renames the files of segments

	retentionDue bool  // it was asked for while it had to wait
	backOff      bool  // background work met a full disk
	resumeMs     int64 // when it may try again
	view         *View // nil when it has to be made anew
}

// content is what the files hold, and what is on its way to them: what opening a log finds, and a truncation replaces.
type content struct {
	segments []*segment // replaced, never changed, for the sake of views
	visible  int        // the first so many hold written batches
	size     int64      // bytes written to the last visible segment
	total    int64      // bytes staged in all segments

	start     model.Offset
	next      model.Offset // the end of what is staged
	end       model.Offset // the end of what is written
	hw        model.Offset
	recovered model.Offset // the recovery point
	flushed   model.Offset

	epochs      checkpoint.Epochs
	epochsDirty bool
	producers   producer.State
	// snapshot is the newest producer snapshot that is not a segment's, NoOffset for none: the next one replaces it.
	snapshot model.Offset
	// stale is the one before it: it goes when the name of the newer one is durable. So does one that never got its name.
	stale []fileID
	marks []mark // where recent batches of the last visible segment begin
}

// isBase tells whether a segment begins at an offset.
func (c *content) isBase(o model.Offset) bool {
	i := segmentAt(c.segments, o)
	return i >= 0 && c.segments[i].base == o
}

// creation is the making of the directory and its partition.metadata.
type creation uint8

const (
	creationDue creation = iota
	creationUnderWay
	creationDone
)

// New makes the log of a partition that has no directory yet. Nothing waits for the disk: Create, or the first append,
// makes the directory.
func New(env *Env, dir string, tp model.TopicPartition, cfg Config, topic model.TopicID) *Log {
	l := newLog(env, &directory{fs: env.FS, path: dir}, tp, cfg, topic)
	l.snapshot = model.NoOffset
	return l
}

func newLog(env *Env, dir *directory, tp model.TopicPartition, cfg Config, topic model.TopicID) *Log {
	dir.topic = topic
	return &Log{env: env, dir: dir, tp: tp, cfg: cfg, topic: topic, broken: &failure{}}
}

// SetConfig changes what Stage, Background and Retention go by from now on.
func (l *Log) SetConfig(cfg Config) { l.cfg = cfg }

// SetHighWatermark moves the high watermark; it stays within the log. It moves back only on a follower that truncated.
func (l *Log) SetHighWatermark(o model.Offset) {
	o = min(max(o, l.start), l.end)
	if o == l.hw {
		return
	}
	l.hw = o
	l.producers.HighWatermark(o)
	l.view = nil
}

// AssignEpoch notes that a leader's epoch begins at the log's end, when this replica becomes the leader.
func (l *Log) AssignEpoch(e model.LeaderEpoch) { l.assignEpoch(e, l.next) }

func (l *Log) assignEpoch(e model.LeaderEpoch, start model.Offset) {
	if e == model.NoLeaderEpoch {
		return
	}
	if next, changed := l.epochs.Assign(e, start); changed {
		l.epochs, l.epochsDirty, l.view = next, true, nil
	}
}

// ExpireProducers forgets producers that have been silent for producer.id.expiration.ms.
func (l *Log) ExpireProducers(nowMs, afterMs int64) int {
	return l.producers.Expire(nowMs, afterMs)
}

// Producers lists the producers for DescribeProducers.
func (l *Log) Producers() []producer.Entry { return l.producers.Entries() }

// LogStart is the first offset that may be read.
func (l *Log) LogStart() model.Offset { return l.start }

// LogEnd is the offset after the last record written.
func (l *Log) LogEnd() model.Offset { return l.end }

// StagedEnd is the offset that the next record gets; from LogEnd on the appends are under way.
func (l *Log) StagedEnd() model.Offset { return l.next }

// HighWatermark is the offset before which every record is committed.
func (l *Log) HighWatermark() model.Offset { return l.hw }

// LastStable is the offset before which every transaction is decided: the end for read_committed.
func (l *Log) LastStable() model.Offset {
	if first, ok := l.producers.FirstUnstable(); ok && first < l.hw {
		return max(first, l.start)
	}
	return l.hw
}

// RecoveryPoint is what the log directory's recovery-point-offset-checkpoint says of this log: the next start reads
// from here on. It falls in TruncateTo and Reset.
func (l *Log) RecoveryPoint() model.Offset { return l.recovered }

// Flushed is the offset before which every record was synced.
func (l *Log) Flushed() model.Offset { return l.flushed }

// Size is the bytes of all batches, those being appended included.
func (l *Log) Size() int64 { return l.total }

// Segments is the number of segments.
func (l *Log) Segments() int { return len(l.segments) }

// Dir is the path of the directory.
func (l *Log) Dir() string { return l.dir.file("") }

// TopicPartition gives the name that the directory bears until Delete.
func (l *Log) TopicPartition() model.TopicPartition { return l.tp }

// TopicID is the incarnation of the topic.
func (l *Log) TopicID() model.TopicID { return l.topic }

// LatestEpoch is the newest leader epoch known.
func (l *Log) LatestEpoch() model.LeaderEpoch {
	latest, _ := l.epochs.Latest()
	return latest.Epoch
}

// EpochEnd answers OffsetForLeaderEpoch (checkpoint.Epochs.End).
func (l *Log) EpochEnd(e model.LeaderEpoch) (model.LeaderEpoch, model.Offset) {
	return l.epochs.End(e, l.end)
}

// Busy tells that jobs are under way that Close, TruncateTo, Reset and Delete have to wait for.
func (l *Log) Busy() bool {
	return l.outstanding > 0 || l.flushing > 0 || l.exclusive || l.maintenance.underWay || l.renaming ||
		l.creation == creationUnderWay
}

// Err is not nil once the log was poisoned: it wraps ErrPoisoned and the error of the write.
func (l *Log) Err() error { return l.failed }

// DeleteRecordsTo raises the log start (DeleteRecords, and a follower whose leader did); files go with the next
// Retention. An offset above the high watermark is OFFSET_OUT_OF_RANGE, one below the start changes nothing.
func (l *Log) DeleteRecordsTo(o model.Offset) error {
	if o > l.hw {
		return &kerr.Error{Code: kerr.OffsetOutOfRange, Detail: fmt.Sprintf(
			"records of %s cannot be deleted up to offset %d: the high watermark is %d", l.tp, o, l.hw)}
	}
	l.raiseStart(o)
	return nil
}

func (l *Log) raiseStart(o model.Offset) {
	if o <= l.start {
		return
	}
	l.start, l.view = o, nil
	if next, changed := l.epochs.TruncateStart(o); changed {
		l.epochs, l.epochsDirty = next, true
	}
}

// Abandon gives the descriptors and budgets of a poisoned log back. What is still queued of its appends fails without
// being written, so the log may be opened anew once what was running has ended.
func (l *Log) Abandon() {
	l.poison(ErrClosed)
	l.releaseContent()
}

// releaseContent closes the files and gives back what the content holds of the broker's budgets.
func (l *Log) releaseContent() {
	segments := l.segments
	for _, r := range l.removals {
		segments = append(segments[:len(segments):len(segments)], r.segments...)
	}
	for _, s := range segments {
		s.file.forget()
		s.index.release()
	}
	l.setMarks(nil)
	l.maintenance.forget(l.env.Dirty)
}

func (l *Log) poison(err error) {
	if l.failed == nil {
		l.failed = fmt.Errorf("%s: %w: %w", l.tp, ErrPoisoned, err)
		l.broken.set(l.failed)
	}
}

// usable tells why nothing can be staged.
func (l *Log) usable() error {
	switch {
	case l.failed != nil:
		return l.failed
	case l.exclusive:
		return ErrBusy
	}
	return nil
}

// begin marks the start of a job that no other may accompany.
func (l *Log) begin() {
	invariant.Check(!l.Busy(), "%s: a job that excludes others was asked for while others are under way", l.tp)
	l.exclusive = true
}
