package partitionlog

import (
	"troupe/internal/model"
	"troupe/partitionlog/compact"
)

// Config is the part of a topic's configuration that its logs act on (facts/topic-configs.csv). Times are in
// milliseconds because Kafka's "never" is the greatest int64 of them, which no time.Duration holds.
type Config struct {
	SegmentBytes       int64
	SegmentMs          int64
	SegmentJitterMs    int64
	IndexBytes         int64 // segment.index.bytes, the size at which either index is full
	IndexIntervalBytes int64
	LogAppendTime      bool // message.timestamp.type
	Preallocate        bool
	DeleteOld          bool  // cleanup.policy holds "delete": retention by time and size applies
	RetentionMs        int64 // -1 keeps for ever
	RetentionBytes     int64 // -1 keeps all
	FileDeleteDelayMs  int64

	Compact           bool    // cleanup.policy holds "compact"
	MinCleanableRatio float64 // min.cleanable.dirty.ratio
	MinCompactionMs   int64   // min.compaction.lag.ms
	MaxCompactionMs   int64   // max.compaction.lag.ms
	DeleteRetentionMs int64   // delete.retention.ms
}

func (c Config) compaction() compact.Policy {
	return compact.Policy{
		MinRatio: c.MinCleanableRatio, MinLagMs: c.MinCompactionMs, MaxLagMs: c.MaxCompactionMs,
		DeleteRetentionMs: c.DeleteRetentionMs, SegmentBytes: c.SegmentBytes, IndexBytes: c.IndexBytes,
	}
}

// segmentMs is the age at which a segment is rolled: records that have to be cleaned by a time must not be in the active
// one then (KIP-354).
func (c Config) segmentMs() int64 {
	if c.Compact && c.MaxCompactionMs > 0 {
		return min(c.SegmentMs, c.MaxCompactionMs)
	}
	return c.SegmentMs
}

// OpenParams is what the checkpoint files of the log directory know of a log.
type OpenParams struct {
	// RecoveryPoint is the offset before which everything was synced.
	RecoveryPoint model.Offset
	// HighWatermark is the checkpointed one; it is bounded by what the log turns out to hold, never guessed beyond.
	HighWatermark model.Offset
	LogStart      model.Offset
	// Required is the end that the log must have, whole; where it has not, opening fails and repairs nothing. It is for
	// logs of which nothing is lost that was synced, but by damage; 0 asks for nothing.
	Required model.Offset
	// Clean says that the log directory was closed in order: the files are taken as they are.
	Clean bool
	// Kept says that the log was not closed, but that all that was written to it is in its files: the process ended, and
	// the page cache lived on (vfs.FS.Era). It must not be said of a log that no process has checked since a power cut.
	Kept bool
	// Cleaned is the offset up to which a cleaner has been over the log, as the cleaner's checkpoint says. It may have left gaps
	// there, also in a log that is not compacted any more.
	Cleaned model.Offset
	// TopicID is compared with partition.metadata; zero takes what stands there.
	TopicID model.TopicID
}

// Recovery reports what opening a log found and repaired.
type Recovery struct {
	ScannedBytes    int64 // read and checked because they were after the recovery point
	TruncatedBytes  int64 // cut off behind the last whole batch
	DeletedSegments int   // later than a bad batch
	RebuiltIndexes  int
	// Reason is the first damage met, nil when the log was whole.
	Reason error
}

// Origin says who made a batch, which decides the checks it is held to and whose offsets it carries.
type Origin uint8

// The origins.
const (
	// FromClient is a producer's batch: the log gives it offset and epoch, and checks its producer's sequence.
	FromClient Origin = iota
	// FromClientV2 is the same by Produce v12+, whose transactions begin at sequence 0 (KIP-890).
	FromClientV2
	// FromCoordinator is written by this cluster: markers, and offsets committed in a transaction. The log gives
	// offset and epoch; sequences are not checked.
	FromCoordinator
	// FromLeader carries its offsets and epoch and has been judged already: a follower's copy, and raft's entries.
	FromLeader
)

// StageOptions goes with one batch.
type StageOptions struct {
	NowMs       int64
	LeaderEpoch model.LeaderEpoch
	Origin      Origin
	// TransactionV2 is set for a marker of a transaction of transaction.version 2.
	TransactionV2 bool
}

// Staged tells where a batch will stand once its job is done.
type Staged struct {
	BaseOffset model.Offset
	LastOffset model.Offset
	// LogAppendMs is the append time on topics with LogAppendTime, else -1.
	LogAppendMs int64
	// Duplicate says that the batch is there already, at these offsets, and that there is no job. Its first append may
	// still be on its way: it is answered when the log end, or the high watermark, has passed LastOffset.
	Duplicate bool
}

// Region is a stretch of one segment file: whole batches, in order. It pins the file's descriptor until Release, which
// is called once; the zero Region is empty and needs none.
type Region struct {
	File     File
	Pos, Len int64 // in bytes

	slot *slot
}

// AbortedTxn is a transaction whose records a read_committed reader has to leave out.
type AbortedTxn struct {
	ProducerID  model.ProducerID
	FirstOffset model.Offset
}

// Found is a record that a search by time found.
type Found struct {
	Offset      model.Offset
	TimestampMs int64
	LeaderEpoch model.LeaderEpoch // of its batch
}
